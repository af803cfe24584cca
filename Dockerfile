# The app on a CPU, as an unprivileged user. compose.yaml runs it as docs/deploying.md describes.
FROM python:3.11-slim

# Index with wheels of torch for CPUs. Pass another one if it cannot be reached.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --create-home --uid 10001 icaps \
    && mkdir --parents /data/runs /data/sets \
    && chown --recursive icaps:icaps /data

WORKDIR /app

# torch first, from its own index, since it is the largest layer and changes least often.
COPY requirements.txt requirements-login.txt ./
RUN grep "^torch==" requirements.txt > torch.txt \
    && pip install --extra-index-url "${TORCH_INDEX}" --requirement torch.txt \
    && pip install --requirement requirements.txt --requirement requirements-login.txt

COPY pyproject.toml README.md LICENSE ./
COPY icaps icaps
COPY dashboard dashboard
COPY pages pages
COPY checkpoints checkpoints
RUN pip install --no-deps .

ENV ICAPS_DATA=/data/sets \
    ICAPS_MODELS=/app/checkpoints:/data/runs \
    STREAMLIT_SERVER_HEADLESS=true \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_ALLOWED_HOSTS="localhost 127.0.0.1"

USER 10001
WORKDIR /home/icaps
VOLUME /data
EXPOSE 8501

HEALTHCHECK --interval=30s --timeout=10s --start-period=90s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/health', timeout=8)"]

CMD ["streamlit", "run", "/app/dashboard/Home.py"]
