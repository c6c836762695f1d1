"""Profiles of sums are refused with one sentence, as a file and in a folder."""

import io
import tarfile

import pytest
from latecomer.cli import run
from latecomer.report.trace import TraceError, read
from test_otf2 import write as archive


def cubex():
    """A tar archive that begins as Score-P's profile."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name in ("anchor.xml", "0.index"):
            out.addfile(tarfile.TarInfo(name), io.BytesIO())
    return raw.getvalue()


XML = b'<?xml version="1.0" encoding="iso-8859-1"?>\n'
PROFILES = {
    "app.16.1234.1.mpiP": (b"@ mpiP\n@ Command : ./app\n@ Version : 3.5.0\n", "mpiP's report"),
    "ipm.xml": (XML + b'<ipm_job_profile>\n<task ipm_version="2.0.6"', "IPM's profile"),
    "rank.xml": (b'<task ipm_version="0.983" cookie="x" mpi_rank="0"', "IPM's profile"),
    "app.darshan": (b"3.41\0\0\0\0" + (6567223).to_bytes(8, "little"), "Darshan's log"),
    "big.darshan": (b"3.10\0\0\0\0" + (6567223).to_bytes(8, "big"), "Darshan's log"),
    "summary.cube": (XML + b'\n<cube version="3.0">\n', "a Cube profile"),
    "anchor.xml": (b'<cube version="4.4">\n', "a Cube profile"),
    "profile.cubex": (cubex(), "a Cube profile"),
    "profile.0.0.0": (b"12 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl\n",
                      "TAU's profile"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("whole", [False, True])
def test_a_profile_of_sums_is_refused(tmp_path, name, whole):
    content, what = PROFILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read(tmp_path if whole else tmp_path / name)
    told = str(caught.value)
    assert told.startswith(f"{tmp_path / name} cannot show who was late: {what} holds sums")
    assert "record " in told
    assert "latecomer run --trace FOLDER" in told
    assert ("OTF2" in told) == (what in ("a Cube profile", "TAU's profile"))


def test_the_command_says_so(tmp_path, capsys):
    (tmp_path / "profile.0.0.0").write_bytes(PROFILES["profile.0.0.0"][0])
    assert run(["report", str(tmp_path)]) == 1
    assert "TAU_TRACE=1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["profile.0.0.0", "profile.cubex"])
def test_a_trace_beside_a_profile_is_read(tmp_path, name):
    folder = archive(tmp_path / "archive")
    (folder / name).write_bytes(PROFILES[name][0])
    assert read(folder).format == "OTF2"


@pytest.mark.parametrize("content", [
    b"12 functions\n", b"<cubes>", b"3.41\0\0\0\0" + bytes(8), b"mpiP\n", b"<?xml version='1.0'?><html>",
])  # fmt: skip
def test_what_only_looks_like_one_is_no_table(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(TraceError, match="no table of calls"):
        read(tmp_path / "file")
