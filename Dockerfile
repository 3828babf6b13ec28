# The page and the API of a model in runs/a, for whoever has the token:
#   docker build -t sgbt . && docker run -p 8000:8000 -e SGBT_TOKEN -v "$PWD/runs/a:/model:ro" sgbt
FROM python:3.12-slim
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY docs/sgbt.1 docs/
COPY src src
RUN pip install --no-cache-dir -c constraints.txt '.[serve]' && useradd --create-home sgbt
USER sgbt
EXPOSE 8000
CMD ["sgbt", "serve", "/model", "--host", "0.0.0.0"]
