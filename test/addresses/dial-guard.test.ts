// The guard itself: whichever way a connection is opened, it is written down, and stopped unless it may pass.

import { deepEqual, equal } from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { openCanaries } from "./canaries.ts";
import { guardDials, STOPPED } from "./dial-guard.ts";

const canaries = openCanaries();
after(() => canaries.close());

test("every way to dial is seen and stopped, and the system is asked for nothing", async () => {
	const guard = guardDials(() => false);
	try {
		const ways = [
			() => connect(81, "192.0.2.1"),
			() => connect({ host: "192.0.2.2", port: 82 }),
			() => connectTls({ host: "192.0.2.3", port: 83 }),
			() => connectTls(84, "2001:db8::4"),
			() => connect({ path: "/nowhere" }),
		];
		for (const dial of ways) equal(await failureOf(dial()), STOPPED);
		equal(await failureOf(connect({ host: "a.name", port: 85 })), STOPPED);
		await fetch("https://192.0.2.6:86/").catch(() => undefined);
		deepEqual(
			guard.dials.map(({ host, port }) => `${host} ${port}`),
			[
				...["192.0.2.1 81", "192.0.2.2 82", "192.0.2.3 83", "2001:db8::4 84"],
				...["not a network address 0", "a.name 85", "192.0.2.6 86"],
			],
		);
		equal(guard.systemConnects, 0);
	} finally {
		guard.remove();
	}
});

test("what may pass arrives and is counted; afterwards nothing is guarded any more", async () => {
	const canary = await canaries.listen("127.0.0.1");
	const port = canary?.port ?? 0;
	const guard = guardDials(({ host }) => host === "127.0.0.1");
	try {
		await hangUp(connect(port, "127.0.0.1"));
		deepEqual([canary?.calls, guard.dials.length, guard.systemConnects], [1, 1, 1]);
	} finally {
		guard.remove();
	}
	await hangUp(connect(port, "127.0.0.1"));
	deepEqual([canary?.calls, guard.dials.length, guard.systemConnects], [2, 1, 1]);
});

async function failureOf(socket: Socket): Promise<string> {
	const [error] = await once(socket, "error");
	return error.code;
}

/** The canary hangs up on everybody. */
async function hangUp(socket: Socket): Promise<void> {
	socket.on("error", () => undefined);
	socket.resume();
	await once(socket, "close");
}
