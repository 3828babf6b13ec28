/* A page opened from the disk may not start a Worker, and the search of this site runs in one. Opened so, a Worker is an
   invisible frame that loads the same script; messages are handed over as events. Served by a web server, nothing changes. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      this.inner = this.frame.contentWindow;
      this.inner.postMessage = (data) => this.hand(this, data);
      const script = this.inner.document.createElement("script");
      script.src = address;
      script.onload = () => {
        this.loaded = true;
        this.waiting.splice(0).forEach((data) => this.hand(this.inner, data));
      };
      this.inner.document.head.appendChild(script);
    }
    hand(receiver, data) {
      const event = new MessageEvent("message", { data });
      setTimeout(() => {
        receiver.dispatchEvent(event);
        if (receiver === this && this.onmessage) this.onmessage(event);
      });
    }
    postMessage(data) {
      if (this.loaded) this.hand(this.inner, data);
      else this.waiting.push(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
