import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import type { PostbackEvent } from "../event.ts";
import { exampleEvent, signCallback } from "../testing/callback.ts";
import {
	type ClaimResult,
	createDurableReceiver,
	type DurableReceiverOptions,
	outranks,
} from "./create-durable-receiver.ts";

const secret = "rbs_shop";
const nowMs = Date.parse("2026-03-01T12:00:00Z");

type Row = { event: PostbackEvent; isDone: boolean };
type Change = Partial<DurableReceiverOptions>;

/** Opens a durable receiver over a table in memory. */
function openShop(rows: Row[], change: Change = {}) {
	const errors: string[] = [];
	const receiver = createDurableReceiver({
		secret,
		now: () => nowMs,
		insert(event) {
			if (rows.some((row) => isSame(row.event, event))) return "seen";
			rows.push({ event, isDone: false });
			return "stored";
		},
		listOpen: (limit) =>
			rows
				.filter(({ isDone }) => !isDone)
				.slice(0, limit)
				.map(({ event }) => event),
		markDone(event) {
			for (const row of rows) if (isSame(row.event, event)) row.isDone = true;
		},
		onEvent: () => undefined,
		onError: (error, event) => errors.push(`${event?.event}: ${error}`),
		...change,
	});
	/** Sends an event. Returns the status of the answer, and a function that starts the work after it. */
	async function send(overrides: Partial<PostbackEvent> = {}) {
		const callback = await signCallback(exampleEvent(overrides), { secret, now: nowMs });
		const { answer, finish } = await receiver.receive(callback);
		return { status: answer.status, work: async () => finish?.() };
	}
	return { receiver, errors, send };
}

function isSame(one: PostbackEvent, other: PostbackEvent): boolean {
	return one.conversionId === other.conversionId && one.event === other.event;
}

test("an event is stored before it is answered, and done after its work", async () => {
	const rows: Row[] = [];
	const seen: boolean[] = [];
	const { receiver, send } = openShop(rows, { onEvent: () => seen.push(rows[0]?.isDone ?? true) });
	const { status, work } = await send();
	deepEqual([status, rows.length, rows[0]?.isDone], [204, 1, false]);
	await work();
	deepEqual([seen, rows[0]?.isDone], [[false], true]);
	deepEqual([(await send()).status, seen.length], [204, 1], "a repeat is not worked on again");
	await receiver.close();
});

test("an event that cannot be stored is answered with 503, and accepted when it comes again", async () => {
	const rows: Row[] = [];
	let isFull = true;
	const { receiver, errors, send } = openShop(rows, {
		insert(event) {
			if (isFull) throw new Error("disk full");
			rows.push({ event, isDone: false });
			return "stored";
		},
	});
	equal((await send()).status, 503);
	deepEqual(errors, ["conversion.recorded: Error: disk full"]);
	isFull = false;
	const again = await send();
	equal(again.status, 204);
	await again.work();
	equal(rows[0]?.isDone, true);
	await receiver.close();
});

test("work that fails is tried again after growing pauses until it succeeds, and is visible meanwhile", async (t) => {
	const rows: Row[] = [];
	let failures = 4;
	let clockMs = nowMs;
	const tries: number[] = [];
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const { receiver, errors, send } = openShop(rows, {
		now: () => clockMs,
		onEvent() {
			tries.push(clockMs);
			if (failures-- > 0) throw new Error("deadlock");
		},
	});
	await (await send()).work();
	const [failing] = receiver.status().failing;
	deepEqual(
		[failing?.event.orderId, failing?.failures, String(failing?.lastError)],
		["ORDER-1001", 1, "Error: deadlock"],
	);
	while (receiver.status().failing.length > 0) {
		const dueAtMs = receiver.status().failing[0]?.nextTryAtMs ?? 0;
		const pauseMs = dueAtMs - clockMs;
		clockMs = dueAtMs;
		ok(pauseMs > 0, "the timer of the last try has not fired");
		t.mock.timers.tick(pauseMs);
		await new Promise(setImmediate);
	}
	equal(tries.length, 5);
	equal(errors.length, 4);
	for (const [index, triedAtMs] of tries.slice(1).entries()) {
		const pauseMs = triedAtMs - (tries[index] ?? 0);
		const most = 1_000 * 2 ** index;
		equal(pauseMs <= most && pauseMs >= most * 0.75, true, `${pauseMs} ms after failure ${index + 1}`);
	}
	deepEqual([rows[0]?.isDone, receiver.status().waiting], [true, 0]);
	await receiver.close();
});

test("two events of one conversion are never worked on at a time, and those of others are", async () => {
	const rows: Row[] = [];
	const running = new Set<string>();
	const overlaps: string[] = [];
	let most = 0;
	const { receiver, send } = openShop(rows, {
		maxConcurrent: 3,
		async onEvent({ conversionId }) {
			if (running.has(conversionId)) overlaps.push(conversionId);
			running.add(conversionId);
			most = Math.max(most, running.size);
			await new Promise(setImmediate);
			running.delete(conversionId);
		},
	});
	const sent = ["a", "b", "c", "d", "e"].flatMap((conversionId) =>
		(["conversion.recorded", "conversion.approved", "conversion.reversed"] as const).map((event) =>
			send({ conversionId, event }),
		),
	);
	await Promise.all((await Promise.all(sent)).map(({ work }) => work()));
	deepEqual([overlaps, most, rows.filter(({ isDone }) => isDone).length], [[], 3, 15]);
	await receiver.close();
});

test("one event that keeps failing holds back neither other conversions nor later events of its own", async () => {
	const rows: Row[] = [];
	const { receiver, send } = openShop(rows, {
		onEvent({ event, conversionId }) {
			if (event === "conversion.recorded" && conversionId === "a") throw new Error("no such order");
		},
	});
	for (const conversionId of ["a", "b"]) {
		for (const event of ["conversion.recorded", "conversion.approved"] as const) {
			await (await send({ conversionId, event })).work();
		}
	}
	deepEqual(
		rows.map(({ isDone }) => isDone),
		[false, true, true, true],
	);
	equal(receiver.status().failing.length, 1);
	await receiver.close();
});

test("after a restart, open events are worked off, more than one page of them", async () => {
	const rows = Array.from({ length: 1_203 }, (_, index) => ({
		event: exampleEvent({ conversionId: `cnv_${index}` }),
		isDone: index % 3 === 0,
	}));
	const worked: string[] = [];
	const { receiver } = openShop(rows, {
		onEvent: ({ conversionId }) => {
			worked.push(conversionId);
		},
	});
	await receiver.sweep();
	equal(rows.filter(({ isDone }) => !isDone).length, 0);
	deepEqual([worked.length, new Set(worked).size], [802, 802]);
	await receiver.close();
});

test("an event that another process may still work on is left to it, until it is old", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const rows: Row[] = [];
	const worked: string[] = [];
	let clockMs = nowMs;
	const { receiver } = openShop(rows, {
		now: () => clockMs,
		sweepEveryMs: 30_000,
		onEvent: ({ conversionId }) => {
			worked.push(conversionId);
		},
	});
	await new Promise(setImmediate);
	const sentAt = (atMs: number) => new Date(atMs).toISOString();
	rows.push({ event: exampleEvent({ conversionId: "old", sentAt: sentAt(nowMs - 60_000) }), isDone: false });
	rows.push({
		event: exampleEvent({ conversionId: "young", sentAt: sentAt(nowMs + 20_000) }),
		isDone: false,
	});
	clockMs += 30_000;
	t.mock.timers.tick(30_000);
	await new Promise(setImmediate);
	deepEqual(worked, ["old"]);
	clockMs += 30_000;
	t.mock.timers.tick(30_000);
	await new Promise(setImmediate);
	deepEqual(worked, ["old", "young"]);
	await receiver.close();
});

test("a table that cannot be read is reported, and is read again at the next look", async () => {
	const rows = [{ event: exampleEvent(), isDone: false }];
	let isBroken = true;
	const { receiver, errors } = openShop(rows, {
		listOpen() {
			if (isBroken) throw new Error("connection lost");
			return rows.filter(({ isDone }) => !isDone).map(({ event }) => event);
		},
	});
	await receiver.sweep();
	match(errors[0] ?? "", /connection lost/);
	isBroken = false;
	await receiver.sweep();
	equal(rows[0]?.isDone, true);
	await receiver.close();
});

/** Opens the claims of several processes that share a table, with the clock by which the claims expire. */
function openClaims(rows: Row[]) {
	const held = new Map<string, { claimant: string; untilMs: number }>();
	const claims = {
		held,
		nowMs,
		claim(event: PostbackEvent, claimant: string, forMs: number): ClaimResult {
			if (rows.some((row) => isSame(row.event, event) && row.isDone)) return "done";
			const other = held.get(event.conversionId);
			const isFree = other === undefined || other.claimant === claimant || other.untilMs <= claims.nowMs;
			if (isFree) held.set(event.conversionId, { claimant, untilMs: claims.nowMs + forMs });
			return isFree ? "claimed" : "busy";
		},
		release({ conversionId }: PostbackEvent, claimant: string) {
			if (held.get(conversionId)?.claimant === claimant) held.delete(conversionId);
		},
	};
	return claims;
}

test("of several receivers with claims only one works on a conversion at a time, and each event is worked on once", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const events = ["conversion.recorded", "conversion.approved"] as const;
	const rows: Row[] = Array.from({ length: 20 }, (_, index) => ({
		event: exampleEvent({ conversionId: `cnv_${index >> 1}`, event: events[index % 2] ?? events[0] }),
		isDone: false,
	}));
	const claims = openClaims(rows);
	const running = new Set<string>();
	const worked: string[] = [];
	const shops = Array.from({ length: 3 }, () =>
		openShop(rows, {
			...claims,
			now: () => claims.nowMs,
			async onEvent({ conversionId, event }) {
				equal(running.has(conversionId), false, conversionId);
				running.add(conversionId);
				worked.push(`${conversionId} ${event}`);
				await new Promise(setImmediate);
				running.delete(conversionId);
			},
		}),
	);
	for (let look = 0; look < 100 && rows.some(({ isDone }) => !isDone); look++) {
		await new Promise(setImmediate);
		claims.nowMs += 500;
		t.mock.timers.tick(500);
	}
	await new Promise(setImmediate);
	deepEqual([worked.length, new Set(worked).size], [20, 20]);
	for (const { receiver, errors } of shops) {
		await receiver.close();
		deepEqual([receiver.status().failing, errors], [[], []]);
	}
	equal(claims.held.size, 0);
});

test("a claim is renewed while the work runs, and ends by itself if its process has ended", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const rows: Row[] = [{ event: exampleEvent({ conversionId: "a" }), isDone: false }];
	const claims = openClaims(rows);
	const pass = async (ms: number) => {
		for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
			claims.nowMs += 1_000;
			t.mock.timers.tick(1_000);
			await new Promise(setImmediate);
		}
	};
	let isDead = false;
	const stuck = Promise.withResolvers<void>();
	const first = openShop(rows, {
		...claims,
		now: () => claims.nowMs,
		claim: (event, ...rest) => {
			if (isDead) throw new Error("this process has ended");
			return claims.claim(event, ...rest);
		},
		onEvent: () => stuck.promise,
	});
	await new Promise(setImmediate);
	const worked: string[] = [];
	const second = openShop(rows, {
		...claims,
		now: () => claims.nowMs,
		onEvent: ({ conversionId }) => worked.push(conversionId),
	});
	await pass(300_000);
	deepEqual(worked, [], "the first process is still at work");
	deepEqual([second.receiver.status().failing, second.errors], [[], []], "waiting is no failure");
	isDead = true;
	await pass(45_000);
	deepEqual([worked, rows[0]?.isDone], [["a"], true]);
	stuck.resolve();
	await Promise.all([first.receiver.close(), second.receiver.close()]);
	equal(claims.held.size, 0);
});

test("a claim that fails is tried again like work that fails, and work after a failed release is not repeated", async () => {
	const rows: Row[] = [];
	const claims = openClaims(rows);
	const worked: string[] = [];
	let isBroken = true;
	const { receiver, errors, send } = openShop(rows, {
		...claims,
		claim: (event, ...rest) => {
			if (isBroken) throw new Error("connection lost");
			return claims.claim(event, ...rest);
		},
		release() {
			throw new Error("connection lost");
		},
		onEvent: ({ conversionId }) => worked.push(conversionId),
	});
	await (await send({ conversionId: "a" })).work();
	deepEqual([worked, errors], [[], ["conversion.recorded: Error: connection lost"]]);
	isBroken = false;
	await receiver.sweep();
	deepEqual([worked, rows[0]?.isDone, errors.length], [["a"], true, 1]);
	await receiver.close();
});

test("a receiver that is closed while it claims a conversion starts no work, and releases the claim", async () => {
	const rows: Row[] = [{ event: exampleEvent({ conversionId: "a" }), isDone: false }];
	const claims = openClaims(rows);
	const claiming = Promise.withResolvers<void>();
	const worked: string[] = [];
	const { receiver } = openShop(rows, {
		...claims,
		async claim(...call) {
			await claiming.promise;
			return claims.claim(...call);
		},
		onEvent: ({ conversionId }) => worked.push(conversionId),
	});
	await new Promise(setImmediate);
	const closed = receiver.close();
	claiming.resolve();
	await closed;
	deepEqual([worked, rows[0]?.isDone, claims.held.size], [[], false, 0]);
});

test("close waits for work that is running, starts no other, and leaves the rest open", async () => {
	const rows: Row[] = [];
	const working = Promise.withResolvers<void>();
	const { receiver, send } = openShop(rows, { maxConcurrent: 1, onEvent: () => working.promise });
	for (const [conversionId, event] of [
		["a", "conversion.recorded"],
		["a", "conversion.approved"],
		["b", "conversion.recorded"],
	] as const) {
		const { work } = await send({ conversionId, event });
		void work();
	}
	const closed = receiver.close();
	working.resolve();
	await closed;
	deepEqual(
		rows.map(({ isDone }) => isDone),
		[true, false, false],
	);
});

test("an option that cannot work is refused at the start", () => {
	for (const name of ["insert", "listOpen", "markDone", "onEvent"]) {
		throws(() => openShop([], { [name]: undefined }), new RegExp(`^TypeError: ${name} must be a function`));
	}
	throws(() => openShop([], { claim: () => "busy" }), /claim and release must both be functions/);
	throws(() => openShop([], { maxConcurrent: 0 }), /maxConcurrent/);
	throws(() => openShop([], { sweepEveryMs: 0.5 }), /sweepEveryMs/);
	throws(() => openShop([], { secret: "rbs_shop\n" }), /white space/);
});

test("only an event of a higher rank replaces what the shop has", () => {
	const statuses = ["RECORDED", "APPROVED", "REJECTED", "REVERSED"];
	const newer = statuses.map((status) => statuses.filter((stored) => outranks(status, stored)).join(" "));
	deepEqual(newer, ["", "RECORDED", "RECORDED APPROVED", "RECORDED APPROVED"]);
	deepEqual([outranks("RECORDED", null), outranks("RECORDED", undefined)], [true, true]);
	deepEqual([outranks("RECORDED", "PARKED"), outranks("RECORDED", "EXPIRED")], [true, true]);
});

test("an unknown status replaces any status but a final one, and is not replaced by RECORDED or by itself", () => {
	const stored = ["PARKED", "RECORDED", "APPROVED", "REJECTED", "REVERSED", "LATER"];
	deepEqual(
		stored.filter((status) => outranks("LATER", status)),
		["PARKED", "RECORDED", "APPROVED"],
	);
	const arriving = ["RECORDED", "APPROVED", "REJECTED", "REVERSED", "EVEN_LATER"];
	deepEqual(
		arriving.filter((status) => outranks(status, "LATER")),
		["APPROVED", "REJECTED", "REVERSED", "EVEN_LATER"],
	);
});
