// `npm run addresses` in short, and the checks themselves, checked: the guard on dials, and entries that expect the wrong
// thing.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, Server, type Socket } from "node:net";
import { after, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { CARRIER_PREFIXES, IPV4_BLOCKS, IPV6_BLOCKS } from "../support/address-blocks.ts";
import { readAddress } from "../support/address-number.ts";
import { BrokenPromise, noProgress } from "../support/proof.ts";
import { allEntries } from "./corpus/all-entries.ts";
import { answerWith, type Entry, forbidden, malformed, passes, unresolvable } from "./corpus/entry.ts";
import { CARRIER_ENTRIES } from "./corpus/literals.ts";
import { MAX_TRIES } from "./delivery-service.ts";
import { guardDials, openCanaries, STOPPED } from "./dial-guard.ts";
import { proveCorpus, proveFew, saveAndDeliver } from "./prove-corpus.ts";
import { isPublic, proveRandom } from "./prove-random.ts";
import { proveRebinding } from "./prove-rebinding.ts";
import { BAD, GOOD, openRebinding } from "./rebinding-setup.ts";
import { isMissed } from "./verdict-check.ts";

/** What the promise asks for. */
const LEAST_ENTRIES = 500;

test("every entry of the corpus gets its verdict when saved and when delivered, and nothing else is dialled", async () => {
	const { length } = allEntries();
	const counts = await proveCorpus(noProgress, "npm run addresses -- --runs 100 --rounds 0");
	deepEqual([counts.entries, counts.missed.length], [length, 0]);
	ok(counts.canaries > 0, "canaries listened");
});

test("the corpus is as large as promised, without the same entry twice", () => {
	const texts = allEntries().map(({ at }) => ("url" in at ? `URL ${at.url}` : at.host));
	ok(new Set(texts).size >= LEAST_ENTRIES, `${new Set(texts).size} different ones`);
	const repeated = [...Map.groupBy(texts, (text) => text)].filter(([, same]) => same.length > 1);
	deepEqual(
		repeated.map(([text]) => text),
		[],
	);
});

test("the reckoning of random addresses agrees with every edge and neighbour that is written down", () => {
	for (const { addresses } of [...IPV4_BLOCKS, ...IPV6_BLOCKS, ...CARRIER_PREFIXES]) {
		for (const [address, verdict] of addresses)
			equal(isPublic(readAddress(address)), verdict === null, address);
	}
	for (const { at, expect } of CARRIER_ENTRIES) {
		const address = "host" in at ? at.host.slice(1, -1) : "";
		equal(isPublic(readAddress(address)), expect.verdict === "passes", address);
	}
});

test("a look-up that timed out has no verdict, unless that is what the entry expects; all else has one", () => {
	const at = { host: "slow.names.example" };
	const judged = { url: "https://slow.names.example/", refusal: null, isStored: true, logged: {} };
	const timedOut = { result: "network-error", detail: "ETIMEOUT (look-up)", http_status: null } as const;
	const delivery = { id: 1, state: "pending", attempts: 1, last_verdict: "retry" } as const;
	const result = { programmeId: 1, delivery, attempt: timedOut };
	const isMissedBy = (expect: Entry["expect"]) =>
		isMissed({ ...judged, entry: { what: "slow", at, expect } }, result);
	deepEqual([isMissedBy(passes("8.8.8.8")), isMissedBy(forbidden("10.0.0.1"))], [true, true]);
	equal(isMissedBy(unresolvable("ETIMEOUT")), false);
	const late = {
		...result,
		attempt: { ...timedOut, result: "timeout", detail: "TIMEOUT (look-up)" },
	} as const;
	equal(isMissed({ ...judged, entry: { what: "slow", at, expect: unresolvable("ETIMEOUT") } }, late), true);
	const entry = { what: "slow", at, expect: forbidden("10.0.0.1") };
	const refusal = "postback_url_unresolvable: No address was found for slow.";
	const logged = { dns: "ETIMEOUT" };
	equal(isMissed({ ...judged, entry, refusal, logged, isStored: false }, undefined), true);
	const answered = { ...result, attempt: { ...timedOut, detail: "ENOTFOUND (look-up)" } };
	equal(isMissed({ ...judged, entry }, answered), false);
});

const PLANTED: readonly Entry[] = [
	{ what: "a private literal", at: { host: "10.0.0.1" }, expect: passes("10.0.0.1") },
	{ what: "a public literal", at: { host: "8.8.8.8" }, expect: forbidden("8.8.8.8") },
	{ what: "a public literal, another dialled", at: { host: "8.8.8.8" }, expect: passes("9.9.9.9") },
	{ what: "another block's name", at: { host: "10.0.0.1" }, expect: forbidden("(192.168.0.0/16)") },
	{ what: "a name that does not exist", at: { host: "no.names.example" }, expect: unresolvable("ESERVFAIL") },
	{ what: "a good URL", at: { url: "https://8.8.8.8/" }, expect: malformed("postback_url_malformed") },
	{
		what: "two addresses in the wrong order",
		at: { host: "order.names.example" },
		answers: answerWith("8.8.8.8", "9.9.9.9"),
		expect: passes("9.9.9.9", "8.8.8.8"),
	},
	{
		what: "one address of two",
		at: { host: "half.names.example" },
		answers: answerWith("8.8.8.8", "9.9.9.9"),
		expect: passes("8.8.8.8"),
	},
	{
		what: "a name that turns private unexpectedly",
		at: { host: "turn.names.example" },
		answers: answerWith("8.8.8.8"),
		expect: passes("8.8.8.8"),
		later: { answers: answerWith("10.0.0.1"), expect: passes("8.8.8.8") },
	},
];

for (const entry of PLANTED) {
	test(`a wrong expectation breaks the proof: ${entry.what}`, async () => {
		const planted = saveAndDeliver([entry], noProgress, "the command");
		await rejects(planted, (error) => {
			ok(error instanceof BrokenPromise);
			ok(error.message.includes(entry.what), error.message);
			equal(error.replay, "the command");
			return true;
		});
	});
}

const LATE: Entry = {
	what: "an answer that must come in time",
	at: { host: "late.names.example" },
	answers: answerWith("8.8.8.8"),
	expect: passes("8.8.8.8"),
	isTimed: true,
};

test("a verdict that depends on time is asked for again when it is wrong, and not for ever", async () => {
	const wrong = { ...LATE, expect: forbidden("8.8.8.8") };
	const tries = countTries();
	const message = await messageOf(proveFew([wrong], tries.progress, "the command"));
	ok(message.includes(LATE.what) && message.includes("8.8.8.8"), message);
	equal(tries.count, MAX_TRIES);
});

test("one call to a canary breaks the proof at once, also where a wrong verdict would be asked for again", async () => {
	const listening: Server[] = [];
	const note = (message: unknown) => {
		if (typeof message !== "object" || message === null || !("server" in message)) return;
		if (message.server instanceof Server) listening.push(message.server);
	};
	subscribe(LISTENING, note);
	const calls: Promise<unknown>[] = [];
	// What is listened on last before anything is saved is the entry's canary.
	const tries = countTries(() => {
		const bound = listening.at(-1)?.address();
		ok(typeof bound === "object" && bound !== null);
		const socket = connect(bound.port, bound.address).resume();
		socket.on("error", () => undefined);
		calls.push(new Promise((resolve) => socket.on("close", resolve)));
	});
	try {
		const entry = { ...LATE, reaches: "127.0.0.1" };
		const message = await messageOf(proveFew([entry], tries.progress, "the command"));
		ok(/127\.0\.0\.1 port \d+ was called 1 times/.test(message), message);
		equal(tries.count, 1);
	} finally {
		unsubscribe(LISTENING, note);
		await Promise.all(calls);
	}
});

/** Node says so of every server that has begun to listen. */
const LISTENING = "tracing:net.server.listen:asyncEnd";

/** Each try saves its one entry once. */
function countTries(onTry: () => void = () => undefined) {
	const tries = {
		count: 0,
		progress(text: string) {
			if (!text.startsWith("saved 1 of")) return;
			tries.count++;
			onTry();
		},
	};
	return tries;
}

async function messageOf(proof: Promise<unknown>): Promise<string> {
	const error = await proof.catch((caught: unknown) => caught);
	ok(error instanceof BrokenPromise, String(error));
	return error.message;
}

test("no random address of a reserved block passes, and no other is refused, however it is written", async () => {
	const { addresses } = await proveRandom(1_000, 11, noProgress, "npm run addresses -- --rounds 0 --seed 11");
	equal(addresses, 1_000);
});

test("names that turn forbidden get not one connection, and those that turn public get their deliveries", async () => {
	const replay = "npm run addresses -- --runs 100 --rounds 5 --seed 3";
	const { delivered, refused } = await proveRebinding(5, 3, noProgress, replay);
	ok(delivered > 0 && refused > 0, `${delivered} delivered, ${refused} refused`);
});

test("a call to a forbidden address is noticed, by its canary and by the guard", async () => {
	const setup = await openRebinding();
	try {
		const name = setup.newName();
		setup.zone.set(name, answerWith(GOOD));
		await setup.deliver(await setup.addShops([name]));
		ok(setup.dials.length > 0 && setup.findBroken().length === 0, setup.findBroken().join());
		const [forbidden] = BAD;
		await fetch(setup.url(forbidden)).catch(() => undefined);
		const broken = setup.findBroken().join();
		ok(broken.includes(`${forbidden} was dialled`), broken);
		// Only where this machine has all of the loopback network.
		if (process.platform === "linux") ok(broken.includes(`${forbidden} was called 1 times`), broken);
	} finally {
		await setup.close();
	}
});

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
