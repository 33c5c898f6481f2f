// Tests the messages to systemd. `systemd-notify` sends them to a socket like systemd's own.

import { equal, ok } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { noteNotRun } from "../../test/support/not-run.ts";
import { until } from "../../test/support/until.ts";
import { endProcess, watchProcess } from "../../test/support/watched-process.ts";
import { tellServiceManager } from "./service-manager.ts";

/**
 * Program that listens on the socket. It is written in Python, because Node does not support Unix datagram sockets.
 */
const LISTENER = `
import socket, sys
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sys.argv[1])
print("listens", flush=True)
while True: print(heard.recv(4096).decode().strip(), flush=True)
`;

test("systemd is told that the service is ready, and repeatedly that it is alive", {
	skip: hindrance(),
}, async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-notify-"));
	const socket = join(folder, "notify");
	const child = spawn("python3", ["-c", LISTENER, socket]);
	t.after(async () => {
		await endProcess(child);
		rmSync(folder, { recursive: true });
	});
	const systemd = watchProcess(child);
	await systemd.said(/^listens$/m);
	const log = createLog();
	tellServiceManager({ socket, watchdogMs: 300 }, log);
	// Each message is sent by a separate process, so the second may overtake the first in this test. In
	// production the messages are a minute apart.
	const count = (state: string) => systemd.stdout.split("\n").filter((line) => line === state).length;
	await until(() => count("READY=1") > 0 && count("WATCHDOG=1") >= 3);
	equal(count("READY=1"), 1);
	equal(log.text(), "");
});

test("a failed notification is logged, and the service continues", { skip: hindrance() }, async () => {
	const log = createLog();
	tellServiceManager({ socket: join(tmpdir(), "nobody-listens-here"), watchdogMs: null }, log);
	await until(() => log.text() !== "");
	ok(log.text().includes("systemd could not be told"));
});

function hindrance(): string | false {
	const isThere = existsSync("/usr/bin/systemd-notify") && spawnSync("python3", ["--version"]).status === 0;
	if (isThere) return false;
	const reason = "Telling systemd was not tested: that needs systemd-notify and, to listen, python3.";
	noteNotRun(reason);
	return reason;
}
