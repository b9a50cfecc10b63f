"""Fetches Mesa's software Vulkan driver out of Debian's packages and unpacks it, without installing anything.

    python3 software_vulkan.py FOLDER

Afterwards FOLDER/lib holds the driver (lavapipe), the Vulkan loader and every library that they need but the C and C++
libraries, and FOLDER/icd.json names the driver. Needs nothing but Python. Every package is checked by its SHA-256.
"""

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request

MIRRORS = ["http://deb.debian.org/debian/pool/", "http://archive.debian.org/debian/pool/"]
DRIVER = "libvulkan_lvp.so"
# Debian 12 and its backports, amd64: path in the pool, SHA-256. Mesa 22.3 of Debian 12 itself is too old.
PACKAGES = [
    ("main/libb/libbsd/libbsd0_0.11.7-2_amd64.deb",
     "bb31cc8b40f962a85b2cec970f7f79cc704a1ae4bad24257a822055404b2c60b"),
    ("main/libd/libdrm/libdrm2_2.4.114-1+b1_amd64.deb",
     "be18fb670797ba32da9628cf3e8acd83160d8db8c8dd842501dd8e401c3b5371"),
    ("main/libe/libedit/libedit2_3.1-20221030-2_amd64.deb",
     "1cf14abf2716d3279db12d0657a5737cf70074a1e71d3bdf73206625e3c89ce6"),
    ("main/e/expat/libexpat1_2.5.0-1+deb12u2_amd64.deb",
     "2255e62fc22a86d2c544b8a3f516da9aee19383ad5742722ab4ce7f66a30dbc8"),
    ("main/libf/libffi/libffi8_3.4.4-1_amd64.deb",
     "6d9f6c25c30efccce6d4bceaa48ea86c329a3432abb360a141f76ac223a4c34a"),
    ("main/i/icu/libicu72_72.1-3+deb12u1_amd64.deb",
     "f7f6f99c6d7b025914df2447fc93e11d22c44c0c8bdd8b6f36691c9e7ddcef88"),
    ("main/l/llvm-toolchain-15/libllvm15_15.0.6-4+b1_amd64.deb",
     "9f0751109ba89e65b1313a4f3e34a29977a0db6fa30ed475e2c6bd555fa9e866"),
    ("main/x/xz-utils/liblzma5_5.4.1-1+deb12u1_amd64.deb",
     "f96d8876b53ec89d76a992bc199679b818cf518225a768954d9451fb556a4eb7"),
    ("main/libm/libmd/libmd0_1.0.4-2_amd64.deb",
     "03539fd30c509e27101d13a56e52eda9062bdf1aefe337c07ab56def25a13eab"),
    ("main/n/ncurses/libtinfo6_6.4-4_amd64.deb",
     "072d908f38f51090ca28ca5afa3b46b2957dc61fe35094c0b851426859a49a51"),
    ("main/v/vulkan-loader/libvulkan1_1.3.239.0-1_amd64.deb",
     "622f28b807ba55a1f5ad1622ff83aa2c5b11fedbec074850e04c10a8f28b43d3"),
    ("main/w/wayland/libwayland-client0_1.21.0-1_amd64.deb",
     "1f002d028b8b79eec9847c636d8886d10dfe8c884cc2bebe18086b1391c5a28d"),
    ("main/libx/libx11/libx11-xcb1_1.8.4-2+deb12u2_amd64.deb",
     "f5da45e1d881a793250a96613f28c471a248877f1a0f18a5c90e2a620a76c898"),
    ("main/libx/libxau/libxau6_1.0.9-1_amd64.deb",
     "679db1c4579ec7c61079adeaae8528adeb2e4bf5465baa6c56233b995d714750"),
    ("main/libx/libxcb/libxcb-dri3-0_1.15-1_amd64.deb",
     "02699b144b9467de8636d27a76984b8f4e7b66e2d25d96df2b9677be86ee9a29"),
    ("main/libx/libxcb/libxcb-present0_1.15-1_amd64.deb",
     "89383e627a4d17b9390d609b2459481bfd2029566367b43068586769e418b6e5"),
    ("main/libx/libxcb/libxcb-randr0_1.15-1_amd64.deb",
     "f86e3d8ff8622871008833e9d064919b7a6237399c903c59fc330ff00f199ff5"),
    ("main/libx/libxcb/libxcb-shm0_1.15-1_amd64.deb",
     "c1afcef29dc78b95c475159b181b28b1dedaf1d5aa06efd2fa6d90c73bfbe0e5"),
    ("main/libx/libxcb/libxcb-sync1_1.15-1_amd64.deb",
     "3366ce715220d38dd0148b78a8e738137bade25ef7eec0698850c6f66800844f"),
    ("main/libx/libxcb/libxcb-xfixes0_1.15-1_amd64.deb",
     "d744a7ebad2cbcf301c96cd6a1ab3ee856e436fc7be5cff5b7c28ac2ac181a64"),
    ("main/libx/libxcb/libxcb1_1.15-1_amd64.deb",
     "fdc61332a3892168f3cc9cfa1fe9cf11a91dc3e0acacbc47cbc50ebaa234cc71"),
    ("main/libx/libxdmcp/libxdmcp6_1.1.2-3_amd64.deb",
     "ecb8536f5fb34543b55bb9dc5f5b14c9dbb4150a7bddb3f2287b7cab6e9d25ef"),
    ("main/libx/libxml2/libxml2_2.9.14+dfsg-1.3~deb12u6_amd64.deb",
     "4460e39dda10a815881374217cde08474747cfa018358cd8612c14b390eff53b"),
    ("main/libx/libxshmfence/libxshmfence1_1.3-1_amd64.deb",
     "1a38142e40e3d32dc4f9a326bf5617363b7d9b4bb762fdcdd262f2192092024d"),
    ("main/z/z3/libz3-4_4.8.12-3.1_amd64.deb",
     "6221ca25ad5abcfbe1965801029d85a88b4775320384b4b716de8fab7a4d2f7a"),
    ("main/libz/libzstd/libzstd1_1.5.4+dfsg2-5_amd64.deb",
     "6315b5ac38b724a710fb96bf1042019398cb656718b1522279a5185ed39318fa"),
    ("main/m/mesa/mesa-vulkan-drivers_25.0.7-2~bpo12+1_amd64.deb",
     "3899f1800424c60a05df5d6913076a526ca8fdbabec43672cd397563d1ca3263"),
    ("main/z/zlib/zlib1g_1.2.13.dfsg-1_amd64.deb",
     "d7dd1d1411fedf27f5e27650a6eff20ef294077b568f4c8c5e51466dc7c08ce4"),
]


def fetch(path, sha256):
    """Returns the package's bytes."""
    errors = []
    for mirror in MIRRORS:
        try:
            data = urllib.request.urlopen(mirror + path, timeout=60).read()
        except (urllib.error.URLError, OSError) as error:
            errors.append(f"{mirror}: {error}")
            continue
        if hashlib.sha256(data).hexdigest() == sha256:
            return data
        errors.append(f"{mirror}: not the file that is known")
    sys.exit(f"{path} cannot be fetched: {'; '.join(errors)}")


def files_of(package):
    """Returns the archive inside a Debian package, which is an `ar` archive with a tar archive in it."""
    at = 8
    while at < len(package):
        name, size = package[at:at + 16].decode().strip(), int(package[at + 48:at + 58])
        at += 60
        if name.startswith("data.tar"):
            return tarfile.open(fileobj=io.BytesIO(package[at:at + size]))
        at += size + size % 2
    sys.exit("a package without files")


def unpack(package, folder):
    """Puts the libraries of a package into `folder`; of drivers only ours."""
    archive = files_of(package)
    for member in archive.getmembers():
        name = os.path.basename(member.name)
        is_other_driver = name.startswith("libvulkan_") and name != DRIVER
        if ".so" not in name or is_other_driver or "linux-gnu/" not in member.name or "/gconv/" in member.name:
            continue
        if member.issym():
            os.symlink(os.path.basename(member.linkname), os.path.join(folder, name))
        elif member.isfile():
            with open(os.path.join(folder, name), "wb") as out:
                shutil.copyfileobj(archive.extractfile(member), out)


def main(destination):
    os.makedirs(os.path.dirname(destination), exist_ok=True)
    work = tempfile.mkdtemp(dir=os.path.dirname(destination), prefix="fetching-software-vulkan-")
    try:
        libraries = os.path.join(work, "lib")
        os.mkdir(libraries)
        for path, sha256 in PACKAGES:
            unpack(fetch(path, sha256), libraries)
        driver = {"library_path": DRIVER, "api_version": "1.4.305"}
        with open(os.path.join(work, "icd.json"), "w") as out:
            json.dump({"file_format_version": "1.0.0", "ICD": driver}, out)
        os.rename(work, destination)
    except OSError:
        # Another process may have been faster.
        if not os.path.isdir(destination):
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
