# syntax=docker/dockerfile:1
# docker build -t capture-gateway .
# With bill of materials and provenance: docker buildx build --sbom=true --provenance=mode=max -t <registry>/capture-gateway --push .

FROM node:24.21.0-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY config config
COPY src src
RUN node --disable-warning=ExperimentalWarning config/build.ts
# A new volume at /var/lib/gateway gets its owner from this folder.
RUN mkdir data

FROM node:24.21.0-trixie-slim AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM gcr.io/distroless/nodejs24-debian13:nonroot
ARG REVISION=unknown
LABEL org.opencontainers.image.title="capture-gateway" \
      org.opencontainers.image.description="A V1-to-V2 migration proxy gateway that edits JSON by bytes, and shows what it changed." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="gcr.io/distroless/nodejs24-debian13:nonroot"
WORKDIR /app
COPY --from=modules /app/node_modules node_modules
# Optional peers of the package: for a store at redis://, and for spans over OTLP/HTTP.
COPY --from=build /app/node_modules/@redis/client node_modules/@redis/client
COPY --from=build /app/node_modules/@opentelemetry node_modules/@opentelemetry
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
COPY config/rules.yaml config/rules.schema.json config/
COPY config/twin config/twin
COPY --from=build --chown=65532:65532 /app/data /var/lib/gateway
# Whoever publishes a container's port decides how open it is. The admin listener stays on loopback.
ENV NODE_ENV=production \
    GATEWAY_LISTEN=*:8080
USER 65532:65532
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/nodejs/bin/node", "dist/cli/health.js"]
ENTRYPOINT ["/nodejs/bin/node", "dist/cli/main.js"]
CMD ["serve"]
