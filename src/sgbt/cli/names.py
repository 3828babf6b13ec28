"""The names that help texts list, as words: what they name is loaded when it is used. A test compares the two."""

from __future__ import annotations

MODELS = ("cnn", "bilstm", "linear", "grams")
OBJECTIVES = ("standard", "gbm", "sgbt", "ibp", "ascc", "atfl", "sem", "certified")
DEVICES = ("auto", "cpu", "cuda")
TIERS = ("ibp", "gbm", "sgbt-core", "sgbt-taylor", "crown", "full", "exact")
METHODS = (
    "pwws",
    "genetic",
    "genetic:alzantot",
    "genetic:fast",
    "genetic:openattack",
    "pso",
    "pso:zang",
    "pso:quick",
    "pso:openattack",
    "pso:openattack-compat",
    "greedy",
    "beam",
    "gradient",
    "ensemble",
)
GRIDS = (
    "ablation",
    "ablation-small",
    "certificates",
    "hyperparameters",
    "hyperparameters-small",
    "imdb-all",
    "imdb-alone",
    "imdb-linear",
    "imdb-two-channel",
    "recipes",
    "reproduction-stated-set-small",
    "smoke",
    "substitutions-small",
    "table1",
    "table1-imdb",
    "table1-small",
)
