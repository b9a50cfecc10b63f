# The engine with its network, for matches on machines that have nothing but containers:
#   docker build -t zeitnot . && docker run -i --rm zeitnot bench
FROM docker.io/library/rust:1.95-bookworm AS build
WORKDIR /zeitnot
COPY . .
RUN cargo build --locked --release && python3 scripts/licences.py THIRD-PARTY.txt

FROM docker.io/library/debian:bookworm-slim
COPY --from=build /zeitnot/target/release/zeitnot /usr/local/bin/zeitnot
COPY --from=build /zeitnot/LICENSE /zeitnot/THIRD-PARTY.txt /zeitnot/models/README.md /usr/local/share/doc/zeitnot/
# Nobody needs rights to play chess.
USER nobody
ENTRYPOINT ["/usr/local/bin/zeitnot"]
