"""What machine this is, and that our program sees its device."""
import datetime
import json
import shutil

from session import Session


def run(session: Session) -> dict:
    query = "name,driver_version,compute_cap,memory.total,clocks.sm,clocks.mem"
    smi = session.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"], 30)
    fields = [field.strip() for field in smi.output.strip().split(",")] if smi.well else []
    found = {"ok": len(fields) == 6, "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"}
    if found["ok"]:
        found |= dict(zip(("name", "driver", "compute_capability", "memory_mib"), fields[:4], strict=True))
    else:
        found["why"] = smi.tail(3)
    for tool in ("nvcc", "compute-sanitizer"):
        if shutil.which(tool):
            found[tool] = session.run([tool, "--version"], 30).tail(1).strip()
    session.run(["uname", "-a"], 10)
    if strile := session.program("strile"):
        found["version"] = session.run([strile, "--version"], 30).output.strip()
        devices = session.run([strile, "devices", "--json"], 60)
        session.say(session.run([strile, "devices"], 60).tail())
        try:
            listed = json.loads(devices.output)["devices"]
            found["usable"] = [d["name"] for d in listed if d.get("usable")]
        except (ValueError, KeyError, TypeError):
            found["usable"] = []
        if not any(name.startswith("cuda") for name in found["usable"]):
            found |= {"ok": False, "why": "strile devices lists no usable cuda device"}
    else:
        found |= {"ok": False, "why": "the bundle has no strile"}
    return found
