"""The manifest of a site on Kubernetes, by Kubernetes' own schemas, and what it says of the agent."""

import subprocess
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "packaging" / "kubernetes" / "site.yaml"


@pytest.fixture(scope="module")
def manifests() -> dict:
    yaml = pytest.importorskip("yaml")
    return {one["kind"]: one for one in yaml.safe_load_all(SITE.read_text(encoding="utf-8"))}


def test_kubernetes_knows_every_key(manifests):
    validate = pytest.importorskip("kubernetes_validate")
    assert sorted(manifests) == ["Job", "PersistentVolumeClaim", "Service"]
    newest = validate.latest_version()
    for manifest in manifests.values():
        validate.validate(manifest, newest, strict=True)
    manifests["Job"]["spec"]["template"]["spec"]["restart"] = "Never"
    with pytest.raises(validate.ValidationError):
        validate.validate(manifests["Job"], newest, strict=True)
    del manifests["Job"]["spec"]["template"]["spec"]["restart"]


def test_pods_read_secrets_and_write_nothing_but_their_state(manifests):
    pod = manifests["Job"]["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert [volumes[name]["secret"]["defaultMode"] for name in ("kit", "rows")] == [0o400, 0o400]
    (agent,) = pod["containers"]
    assert agent["securityContext"]["readOnlyRootFilesystem"] and pod["securityContext"]["runAsNonRoot"]
    assert {mount["name"] for mount in agent["volumeMounts"] if not mount.get("readOnly")} == {"state"}


def test_the_health_check_tells_well_from_unwell(manifests, tmp_path):
    """The command of the manifest itself, asked of a server that answers what an agent answers."""
    import http.server
    import threading

    class Agent(http.server.BaseHTTPRequestHandler):
        code = 200

        def do_GET(self):
            assert self.path == "/health"
            self.send_response(type(self).code)
            self.end_headers()

        def log_message(self, *_):
            pass

    (agent,) = manifests["Job"]["spec"]["template"]["spec"]["containers"]
    commands = {str(agent[probe]["exec"]["command"]) for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert len(commands) == 1
    server = http.server.HTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert "--health=8470" in agent["args"]
    command = [part.replace("8470", str(server.server_port)) for part in agent["startupProbe"]["exec"]["command"]]
    try:
        for code, well in [(200, True), (503, False), (200, True)]:
            Agent.code = code
            assert (subprocess.run(command, timeout=20, capture_output=True).returncode == 0) is well
    finally:
        server.shutdown()
        server.server_close()
    assert subprocess.run(command, timeout=20, capture_output=True).returncode != 0
