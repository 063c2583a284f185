#!/bin/sh
# Unpacks the clients that newer releases of Debian have than this machine: fetch.sh FOLDER. Nothing is installed.
# Then: COSMIG_CLIENTS=FOLDER npm run clients. The client for Go also needs `apt-get install golang-go` and, from the
# same place, golang-golang-x-net-dev and golang-golang-x-text-dev; that for Python needs python3-requests.
set -eu
folder=$1
# The mirror that this machine installs from.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
mkdir -p "$folder"
for wanted in trixie/python3-azure sid/golang-github-azure-azure-sdk-for-go-dev; do
  release=${wanted%%/*} package=${wanted#*/}
  path=$(curl -fsS "$mirror/dists/$release/main/binary-amd64/Packages.xz" | xz -dc |
    awk -v RS= -v first="Package: $package" 'index($0, first "\n") == 1' | sed -n 's/^Filename: //p')
  curl -fsS -o "$folder/$package.deb" "$mirror/$path"
  dpkg-deb -x "$folder/$package.deb" "$folder"
done
