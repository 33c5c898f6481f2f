// A short `npm run addresses`, and tests of its checks: the dial guard, and entries with a wrong expectation.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { BrokenPromise, noProgress } from "../support/proof.ts";
import { allEntries } from "./corpus.ts";
import { guardDials, STOPPED } from "./dial-guard.ts";
import { answerWith, type Entry, judgeEntries } from "./judge-entries.ts";
import { proveRebinding } from "./rebinding.ts";

/** Minimum size of the corpus. */
const LEAST_ENTRIES = 500;

test("every entry of the corpus gets its verdict on saving and on sending, and nothing else is dialled", async () => {
	const entries = allEntries();
	ok(new Set(entries.map(({ at }) => at)).size >= LEAST_ENTRIES);
	const repeated = [...Map.groupBy(entries, ({ at }) => at)].filter(([, same]) => same.length > 1);
	deepEqual(
		repeated.map(([at]) => at),
		[],
	);
	await judgeEntries(entries, noProgress, "npm run addresses -- --rounds 0");
});

test("a name that turns forbidden gets no connection, and one that turns public gets its requests", async () => {
	const replay = "npm run addresses -- --rounds 5 --seed 3";
	const { delivered, refused } = await proveRebinding(5, 3, noProgress, replay);
	ok(delivered > 0 && refused > 0, `${delivered} delivered, ${refused} refused`);
});

const TWO = answerWith("8.8.8.8", "9.9.9.9");
const PLANTED: readonly Entry[] = [
	{ what: "a private literal", at: "10.0.0.1", expect: "dials 10.0.0.1" },
	{ what: "a public literal", at: "8.8.8.8", expect: "forbids 8.8.8.8" },
	{ what: "a public literal, another dialled", at: "8.8.4.4", expect: "dials 9.9.9.9" },
	{ what: "another block's name", at: "10.0.0.2", expect: "forbids 10.0.0.2 is not public (loopback)" },
	{ what: "a name that does not exist", at: "no.names.example", expect: "fails ESERVFAIL" },
	{ what: "a good URL", at: "https://8.8.8.8/", expect: "refuses postback_url_malformed" },
	{ what: "the wrong order", at: "order.names.example", answers: TWO, expect: "dials 9.9.9.9 8.8.8.8" },
	{ what: "one address of two", at: "half.names.example", answers: TWO, expect: "dials 8.8.8.8" },
	{
		what: "a name that turns private unexpectedly",
		at: "turn.names.example",
		answers: answerWith("8.8.8.8"),
		expect: "dials 8.8.8.8",
		later: { answers: answerWith("10.0.0.1"), expect: "dials 8.8.8.8" },
	},
	{ what: "in time", at: "late.names.example", answers: TWO, expect: "forbids 8.8.8.8", isTimed: true },
];

test("a wrong expectation fails the proof, also if the verdict is tried again", async () => {
	await rejects(judgeEntries(PLANTED, noProgress, "the command"), (error) => {
		ok(error instanceof BrokenPromise);
		for (const { what } of PLANTED) ok(error.message.includes(`(${what}):`), `${what}: ${error.message}`);
		equal(error.replay, "the command");
		return true;
	});
});

test("every way to dial is recorded and stopped before it reaches the system", async () => {
	using guard = guardDials(() => false);
	const ways = [
		() => connect(81, "192.0.2.1"),
		() => connect({ host: "192.0.2.2", port: 82 }),
		() => connectTls({ host: "192.0.2.3", port: 83 }),
		() => connectTls(84, "2001:db8::4"),
		() => connect({ path: "/nowhere" }),
		() => connect({ host: "a.name", port: 85 }),
	];
	for (const dial of ways) equal(await failureOf(dial()), STOPPED);
	await fetch("https://192.0.2.6:86/").catch(() => undefined);
	deepEqual(
		guard.dials.map(({ host, port }) => `${host} ${port}`),
		[
			...["192.0.2.1 81", "192.0.2.2 82", "192.0.2.3 83", "2001:db8::4 84"],
			...["not a network address 0", "a.name 85", "192.0.2.6 86"],
		],
	);
	equal(guard.systemConnects, 0);
});

test("an allowed dial reaches the system and is counted, and the guard can be removed", async () => {
	const guard = guardDials(({ host }) => host === "127.0.0.1");
	// Nothing listens on the port of the TCP multiplexer.
	equal(await failureOf(connect(1, "127.0.0.1")), "ECONNREFUSED");
	deepEqual([guard.dials.length, guard.systemConnects], [1, 1]);
	guard[Symbol.dispose]();
	equal(await failureOf(connect(1, "127.0.0.1")), "ECONNREFUSED");
	deepEqual([guard.dials.length, guard.systemConnects], [1, 1]);
});

async function failureOf(socket: Socket): Promise<string> {
	const [error] = await once(socket, "error");
	return error.code;
}
