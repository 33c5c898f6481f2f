import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClock, settle } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import {
	type AdmissionClass,
	CLASSES,
	createAdmission,
	type LeavePlace,
	MAX_DELAYED_REFUSALS,
	MAX_WAIT_FOR_REPORTS_MS,
	REFUSAL_DELAY_MS,
} from "./admission.ts";

const { pages, pixelCalls } = CLASSES;

/** Waits until every request that may start has started. */
async function settleAll(): Promise<void> {
	for (let round = 0; round < 4; round++) await settle();
}

function openAdmission() {
	const clock = createClock();
	const log = createLog();
	const stopping = new AbortController();
	const admission = createAdmission({ clock, log, stopSignal: stopping.signal });
	/**
	 * The clients of the requests in the order in which they started. A refused request is recorded with the
	 * prefix "no".
	 */
	const started: string[] = [];
	const places: LeavePlace[] = [];
	const ask = async (client: string, className: AdmissionClass = "pages") => {
		const leave = await admission.admit(className, client);
		started.push(leave === undefined ? `no ${client}` : client);
		if (leave !== undefined) places.push(leave);
	};
	const leaveAll = async () => {
		while (places.length > 0) {
			places.shift()?.();
			await settle();
		}
	};
	return { clock, log, stopping, admission, started, ask, leaveAll };
}

describe("requests that start after reports", () => {
	test("clients take turns, so a client that floods delays only itself, and few requests are at work at once", async () => {
		const { started, ask, leaveAll } = openAdmission();
		for (let n = 0; n < 50; n++) void ask("flood");
		for (const client of ["a", "b"]) void ask(client);
		await settleAll();
		assert.deepEqual(started.toSorted(), ["a", "b", "flood", "flood"], "two of a client at most");
		await leaveAll();
		assert.equal(started.length, 52, "and all get their turn");
		const many = openAdmission();
		for (let n = 0; n < 50; n++) void many.ask(`client ${n}`);
		await settleAll();
		assert.equal(many.started.length, 8, "eight in all");
		await many.leaveAll();
		assert.equal(many.started.length, 50);
		assert.equal(many.clock.waitingTimers, 0);
	});

	test("a client whose queue is full is refused a second later, and others still have room", async () => {
		const { clock, started, ask, leaveAll } = openAdmission();
		for (let n = 0; n < pages.waitingPerClient + 3; n++) void ask("flood");
		await settleAll();
		assert.equal(started.length, 2);
		void ask("other");
		await settleAll();
		assert.deepEqual(started, ["flood", "flood", "other"]);
		await clock.moveBy(REFUSAL_DELAY_MS - 1);
		assert.equal(started.length, 3);
		await clock.moveBy(1);
		assert.deepEqual(started.slice(3), ["no flood", "no flood", "no flood"]);
		await leaveAll();
		assert.equal(clock.waitingTimers, 0);
	});

	test("a client with nothing waiting has room while others fill the class, up to a second limit", async () => {
		const { clock, started, ask, leaveAll } = openAdmission();
		const floods = Array.from({ length: 9 }, (_, n) => `flood ${n}`);
		for (let n = 0; n < 66; n++) for (const client of floods) void ask(client);
		void ask("quiet");
		await settleAll();
		await clock.moveBy(REFUSAL_DELAY_MS);
		assert.ok(started.some((client) => client.startsWith("no flood ")));
		await leaveAll();
		assert.ok(started.includes("quiet"));
		for (let n = 0; n < 1_100; n++) void ask(`client ${n}`);
		await settleAll();
		await clock.moveBy(REFUSAL_DELAY_MS);
		const refused = started.filter((client) => client.startsWith("no client"));
		assert.equal(refused.length, 1_100 - pages.waitingForNewClients);
		assert.equal(pages.waitingForNewClients, 2 * pages.waiting);
		await leaveAll();
		assert.equal(clock.waitingTimers, 0);
	});

	test("no request starts or continues while a report is at work, except now and then if reports never end", async () => {
		const { clock, admission, started, ask, leaveAll } = openAdmission();
		const report = Promise.withResolvers<void>();
		const reported = admission.runReport(() => report.promise);
		for (const client of ["a", "b", "c"]) void ask(client);
		let hasContinued = false;
		void admission.yieldToReports().then(() => {
			hasContinued = true;
		});
		await settleAll();
		assert.deepEqual([started, hasContinued], [[], false]);
		await clock.moveBy(MAX_WAIT_FOR_REPORTS_MS);
		assert.deepEqual([started, hasContinued], [["a"], true]);
		report.resolve();
		await reported;
		await settleAll();
		assert.deepEqual(started, ["a", "b", "c"]);
		await leaveAll();
		assert.equal(clock.waitingTimers, 0);
	});

	test("a report that fails lets the others start, and password forms delay no page", async () => {
		const { admission, started, ask, leaveAll } = openAdmission();
		await admission.runReport(() => Promise.reject(new Error("no"))).catch(() => undefined);
		for (let n = 0; n < 20; n++) void ask(`sign-in ${n}`, "passwordForms");
		for (let n = 0; n < 3; n++) void ask(`page ${n}`);
		await settleAll();
		assert.deepEqual(started.toSorted(), ["page 0", "page 1", "page 2", "sign-in 0"]);
		await leaveAll();
		assert.equal(started.length, 23);
	});
});

describe("pixel calls", () => {
	const origin = { addressBlock: null, programme: null };

	/** Opens the class of pixel calls without rate limits, so that only the queue decides. */
	function openPixelCalls() {
		const { admission, ...opened } = openAdmission();
		let block = 0;
		const take = async <Answer>(work: () => Promise<Answer>): Promise<Answer | undefined> => {
			block++;
			const from = { ...origin, addressBlock: `block ${block}`, programme: `programme ${block}` };
			const leave = await admission.admit("pixelCalls", "one client", from);
			return leave === undefined ? undefined : work().finally(leave);
		};
		return { ...opened, take };
	}

	test("few are at work at once, the others start in order, and a call beyond the limit is refused", async () => {
		const { clock, take } = openPixelCalls();
		const started: number[] = [];
		const finish: (() => void)[] = [];
		const work = (call: number) => () => {
			started.push(call);
			return new Promise<number>((resolve) => finish.push(() => resolve(call)));
		};
		const room = pixelCalls.atOnce + pixelCalls.waiting;
		const admitted = Array.from({ length: room }, (_, call) => take(work(call)));
		await settle();
		assert.equal(started.length, pixelCalls.atOnce);
		const refused = take(work(room));
		await clock.moveBy(REFUSAL_DELAY_MS);
		assert.equal(await refused, undefined);
		for (let call = 0; call < room; call++) {
			while (finish.length <= call) await settle();
			finish[call]?.();
		}
		assert.deepEqual(
			await Promise.all(admitted),
			Array.from({ length: room }, (_, call) => call),
		);
		assert.deepEqual(
			started,
			[...started].sort((one, other) => one - other),
		);
	});

	test("other requests are served after each round of calls", async () => {
		const { take } = openPixelCalls();
		const order: string[] = [];
		// SQLite answers synchronously, so none of these calls waits for a round of the event loop.
		const calls = Array.from({ length: 3 * pixelCalls.atOnce }, () =>
			take(async () => void order.push("pixel")),
		);
		setImmediate(() => order.push("other"));
		await Promise.all(calls);
		assert.equal(order.indexOf("other"), pixelCalls.atOnce);
	});

	test("a call that fails gives its place back", async () => {
		const { take } = openPixelCalls();
		for (let call = 0; call < 3 * pixelCalls.atOnce; call++) {
			await assert.rejects(take(() => Promise.reject(new Error("no"))));
		}
		assert.equal(await take(async () => "done"), "done");
	});

	test("address blocks take turns", async () => {
		const { admission } = openAdmission();
		const order: string[] = [];
		const places: LeavePlace[] = [];
		const call = async (block: string) => {
			const leave = await admission.admit("pixelCalls", block, { addressBlock: block, programme: "prg" });
			order.push(leave === undefined ? `no ${block}` : block);
			if (leave !== undefined) places.push(leave);
		};
		for (let n = 0; n < 2 * pixelCalls.atOnce; n++) void call("5.6.7");
		void call("9.8.7");
		await settleAll();
		for (const leave of places.slice(0, 2)) leave();
		await settleAll();
		assert.deepEqual(order.slice(pixelCalls.atOnce), ["5.6.7", "9.8.7"]);
	});

	test("a call that exceeds its rate is refused a second later", async () => {
		const { clock, admission } = openAdmission();
		const from = { addressBlock: "5.6.7", programme: "prg" };
		for (let call = 0; call < 300; call++) {
			const leave = await admission.admit("pixelCalls", "5.6.7", from);
			assert.ok(leave !== undefined);
			leave();
		}
		let isRefused = false;
		const refused = admission.admit("pixelCalls", "5.6.7", from).then((leave) => {
			isRefused = leave === undefined;
		});
		await clock.moveBy(REFUSAL_DELAY_MS - 1);
		assert.equal(isRefused, false);
		await clock.moveBy(1);
		await refused;
		assert.equal(isRefused, true);
		assert.notEqual(await admission.admit("pixelCalls", "5.6.7", from), undefined, "the rate has filled up");
	});
});

describe("requests that never wait", () => {
	test("each person may have a few, all people together some more, and a request beyond that is refused at once", async () => {
		const { admission } = openAdmission();
		const { atOnce, atOncePerClient } = CLASSES.exports;
		for (let n = 0; n < atOncePerClient; n++) assert.notEqual(await admission.admit("exports", 0), undefined);
		assert.equal(await admission.admit("exports", 0), undefined, "one person");
		for (let person = 1; person <= atOnce - atOncePerClient; person++) {
			assert.notEqual(await admission.admit("exports", person), undefined);
		}
		assert.equal(await admission.admit("exports", 99), undefined, "all together");
		assert.notEqual(await admission.admit("importUploads", 0), undefined, "other classes are not affected");
	});

	test("a place becomes free at once, and only once however often it is given back", async () => {
		const { admission } = openAdmission();
		const places = [await admission.admit("exports", 1), await admission.admit("exports", 1)];
		assert.equal(await admission.admit("exports", 1), undefined);
		places[0]?.();
		assert.notEqual(await admission.admit("exports", 1), undefined);
		places[0]?.();
		assert.equal(await admission.admit("exports", 1), undefined);
	});
});

test("uploaded files are worked on one at a time for each kind, and no kind waits for another", async () => {
	const { started, ask, leaveAll } = openAdmission();
	for (const kind of ["decisions", "decisions", "decisions", "picture"]) void ask(kind, "uploadedFiles");
	await settleAll();
	assert.deepEqual(started, ["decisions", "picture"]);
	await leaveAll();
	assert.equal(started.length, 4);
});

describe("delayed refusals", () => {
	test("a limited number of refusals is delayed, and further ones are answered at once", async () => {
		const { clock, admission } = openAdmission();
		let answered = 0;
		const refuse = () => admission.delayRefusal().then(() => answered++);
		const delayed = Array.from({ length: MAX_DELAYED_REFUSALS }, refuse);
		await clock.moveBy(REFUSAL_DELAY_MS - 1);
		assert.equal(answered, 0);
		await refuse();
		assert.equal(answered, 1);
		await clock.moveBy(1);
		await Promise.all(delayed);
		assert.equal(answered, MAX_DELAYED_REFUSALS + 1);
		assert.equal(clock.waitingTimers, 0);
	});

	test("a stop does not wait for delayed refusals and leaves no timer", async () => {
		const { clock, stopping, admission } = openAdmission();
		const delayed = Array.from({ length: 3 }, () => admission.delayRefusal());
		await settle();
		assert.equal(clock.waitingTimers, 3);
		stopping.abort();
		await Promise.all(delayed);
		await admission.delayRefusal();
		assert.equal(clock.waitingTimers, 0);
	});
});
