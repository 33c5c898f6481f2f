import { deepEqual, equal, match, throws } from "node:assert/strict";
import { test } from "node:test";
import { type Client, createClient } from "../client/create-client.ts";
import type { SecretSource } from "../secrets.ts";
import { createFakeService, type FakeServiceOptions } from "../testing/fake-service.ts";
import { createOutbox, type OutboxCall, type OutboxEntry, type OutboxProblem } from "./create-outbox.ts";

const startMs = Date.parse("2026-03-01T12:00:00Z");
const sale = { call: "record", orderId: "1001", basketValue: "100.00" } as const;
/** Longest time that an entry waits before it is tried again. */
const longestPauseMs = 300_000;

type Row = { id: number; call: OutboxCall; attempts: number; dueAtMs: number; state: string; detail: string };

/** Opens an outbox over a table in memory, with a fake service and a clock that tests move. */
function openShop(
	options: FakeServiceOptions = {},
	change: (client: Client) => Partial<Client> = () => ({}),
	secret: SecretSource = "rbs_fake",
) {
	let nowMs = startMs;
	const now = () => nowMs;
	const service = createFakeService({ ...options, now });
	const rows: Row[] = [];
	const problems: OutboxProblem[] = [];
	const storage = { isBroken: false };
	const client = createClient({ ...service.clientOptions, secret, now, retry: { maxAttempts: 1 } });
	const outbox = createOutbox({
		client: { ...client, ...change(client) },
		load(afterId, limit) {
			if (storage.isBroken) throw new Error("disk full");
			return rows.filter(({ id, state }) => state === "open" && id > afterId).slice(0, limit);
		},
		save({ id }, progress) {
			const row = rows.find((one) => one.id === id);
			Object.assign(row ?? {}, progress);
		},
		onProblem: (problem) => problems.push(problem),
		now,
	});
	return {
		service,
		outbox,
		rows,
		problems,
		storage,
		add: (call: OutboxCall) =>
			rows.push({ id: rows.length + 1, call, attempts: 0, dueAtMs: 0, state: "open", detail: "" }),
		passTime(byMs: number) {
			nowMs += byMs;
		},
		states: () => rows.map(({ state }) => state),
		paths: () => service.calls().map(({ path }) => path),
	};
}

test("calls about one sale are sent in their order, and each row is saved with the result", async () => {
	const { add, outbox, service, rows, paths } = openShop();
	add({ ...sale, occurredAt: "2026-02-28T12:00:00Z" });
	add({ call: "approve", orderId: "1001" });
	add({ call: "refund", orderId: "1001", refundId: "R-1", amount: "30.00", reason: "RETURN" });
	add({ call: "reverse", orderId: "1001", reason: "RETURN" });
	add({ call: "record", orderId: "1002", basketValue: "1.00" });
	add({ call: "reject", orderId: "1002", reason: "FRAUD" });
	deepEqual(await outbox.drain(), { done: 6, refused: 0, failed: 0, isPaused: false });
	const ends = ["conversions", "approvals", "refunds", "reversals", "conversions", "rejections"];
	deepEqual(
		paths(),
		ends.map((end) => `/v1/${end}`),
	);
	deepEqual(
		rows.map((row) => [row.state, "outcome" in row && row.outcome]),
		["RECORDED", "APPROVED", "REFUNDED", "REVERSED", "RECORDED", "REJECTED"].map((word) => ["done", word]),
	);
	deepEqual(
		service.conversions().map(({ status, basketValue }) => [status, basketValue]),
		[
			["REVERSED", "70.00"],
			["REJECTED", "1.00"],
		],
	);
	deepEqual(await outbox.drain(), { done: 0, refused: 0, failed: 0, isPaused: false });
});

test("during an outage all calls stay open, and afterwards all are sent once, in order", async () => {
	const { add, outbox, service, states, problems, passTime } = openShop();
	for (const orderId of ["1", "2", "3", "4", "5"]) {
		add({ ...sale, orderId });
		add({ call: "approve", orderId });
	}
	service.setOutage("no_answer");
	const first = await outbox.drain();
	deepEqual(first, { done: 0, refused: 0, failed: 3, isPaused: true }, "it does not try all of them");
	deepEqual(
		problems.map(({ kind }) => kind),
		["delayed", "delayed", "delayed"],
	);
	deepEqual(states(), Array(10).fill("open"));
	service.setOutage(503);
	passTime(longestPauseMs);
	equal((await outbox.drain()).isPaused, true);
	service.setOutage(null);
	passTime(longestPauseMs);
	deepEqual(await outbox.drain(), { done: 10, refused: 0, failed: 0, isPaused: false });
	equal(service.calls().length, 10);
	deepEqual(
		service.conversions().map(({ status }) => status),
		Array(5).fill("APPROVED"),
	);
});

test("a call whose answer was lost is sent again, and the sale is recorded once", async () => {
	const { add, outbox, service, rows, passTime } = openShop();
	add(sale);
	service.setOutage("answer_lost");
	await outbox.drain();
	service.setOutage(null);
	passTime(longestPauseMs);
	equal((await outbox.drain()).done, 1);
	equal(service.conversions().length, 1);
	deepEqual(
		rows.map((row) => "outcome" in row && row.outcome),
		["DUPLICATE"],
	);
});

test("a later call about a sale waits while an earlier one is not due, and other sales do not wait", async () => {
	const failing = new Set(["1001"]);
	const { add, outbox, rows, paths, passTime } = openShop({}, ({ record }) => ({
		record: async (reported, options) =>
			failing.has(reported.orderId)
				? { ok: false, kind: "unavailable", retryable: true, status: 500, detail: "Made up.", attempts: 1 }
				: record(reported, options),
	}));
	add(sale);
	add({ call: "approve", orderId: "1001" });
	add({ ...sale, orderId: "1002" });
	deepEqual(await outbox.drain(), { done: 1, refused: 0, failed: 1, isPaused: false });
	deepEqual(paths(), ["/v1/conversions"], "of the other sale");
	failing.clear();
	deepEqual(await outbox.drain(), { done: 0, refused: 0, failed: 0, isPaused: false }, "not due yet");
	passTime((rows[0]?.dueAtMs ?? 0) - startMs);
	equal((await outbox.drain()).done, 2);
	deepEqual(paths().slice(1), ["/v1/conversions", "/v1/approvals"]);
});

test("the pauses of a call that keeps failing grow up to five minutes, and it is never dropped", async () => {
	const { add, outbox, service, rows, passTime } = openShop();
	add(sale);
	service.setOutage("no_answer");
	const pauses: number[] = [];
	for (let attempt = 1; attempt <= 12; attempt++) {
		const beforeMs = startMs + pauses.reduce((sum, pause) => sum + pause, 0);
		await outbox.drain();
		const pauseMs = (rows[0]?.dueAtMs ?? 0) - beforeMs;
		pauses.push(pauseMs);
		passTime(pauseMs);
	}
	for (const [index, pauseMs] of pauses.entries()) {
		const most = Math.min(longestPauseMs, 5_000 * 2 ** index);
		equal(pauseMs <= most && pauseMs >= most * 0.75, true, `${pauseMs} ms after failure ${index + 1}`);
	}
	deepEqual([rows[0]?.state, rows[0]?.attempts], ["open", 12]);
});

test("a refused call is saved with its code and reported, and later calls about the sale are sent", async () => {
	const { add, outbox, rows, problems, states } = openShop();
	add(sale);
	add({ call: "refund", orderId: "1001", refundId: "R-1", amount: "100.01", reason: "RETURN" });
	add({ call: "approve", orderId: "1001" });
	deepEqual(await outbox.drain(), { done: 2, refused: 1, failed: 0, isPaused: false });
	deepEqual(states(), ["done", "refused", "done"]);
	match(rows[1]?.detail ?? "", /100\.00 is left/);
	deepEqual(
		problems.map((problem) => "code" in problem && [problem.kind, problem.code, problem.entry.id]),
		[["refused", "refund_above_value", 2]],
	);
});

/** Returns the bodies of the calls to the service that end with this path. */
function bodiesOf(service: ReturnType<typeof createFakeService>, end: string): unknown[] {
	return service.calls().flatMap(({ path, body }) => (path === `/v1/${end}` ? [body] : []));
}

test("a rejection that comes after the approval becomes a reversal with the same reason", async () => {
	const { add, outbox, service, rows, problems, passTime } = openShop();
	add(sale);
	await outbox.drain();
	service.decide("1001", { move: "approve" });
	add({ call: "reject", orderId: "1001", reason: "CANCELLED" });
	service.setOutage("answer_lost");
	equal((await outbox.drain()).failed, 1);
	service.setOutage(null);
	passTime(longestPauseMs);
	equal((await outbox.drain()).done, 1);
	deepEqual(bodiesOf(service, "reversals").at(-1), { orderId: "1001", reason: "CANCELLED" });
	const [conversion] = service.conversions();
	deepEqual([conversion?.status, conversion?.reason], ["REVERSED", "CANCELLED"]);
	const last = rows.at(-1) ?? {};
	deepEqual([rows.at(-1)?.state, "outcome" in last && last.outcome], ["done", "REVERSED"]);
	deepEqual(
		problems.map(({ kind }) => kind),
		["delayed"],
		"of the lost answer",
	);
});

test("a call that has nothing left to do is settled without a problem, and one that needs a person is refused", async () => {
	const { add, outbox, service, rows, problems } = openShop();
	const refund = { call: "refund", orderId: "1001", reason: "RETURN" } as const;
	for (const orderId of ["1001", "1002", "1003"]) add({ ...sale, orderId });
	await outbox.drain();
	service.decide("1002", { move: "reject", reason: "FRAUD" });
	for (const call of [
		{ ...refund, refundId: "R-1", basketValue: "40.00" },
		{ ...refund, refundId: "R-2", basketValue: "40" },
		{ ...refund, refundId: "R-3", basketValue: "50.00" },
		{ ...refund, refundId: "R-4", amount: "40.01" },
		{ ...refund, refundId: "R-5", basketValue: "0.00" },
		{ ...refund, refundId: "R-6", amount: "1.00" },
		{ call: "reverse", orderId: "1002", reason: "RETURN" },
		{ call: "approve", orderId: "1002" },
		{ call: "reject", orderId: "1002", reason: "FRAUD" },
		{ call: "approve", orderId: "1003" },
		{ call: "reverse", orderId: "1003", reason: "RETURN" },
		{ call: "reject", orderId: "1003", reason: "RETURN" },
	] as const) {
		add(call);
	}
	await outbox.drain();
	deepEqual(
		rows.slice(3).map((row) => [row.state, "code" in row ? row.code : ""]),
		[
			["done", ""],
			["settled", "value_not_lower"],
			["refused", "value_not_lower"],
			["refused", "refund_above_value"],
			["done", ""],
			["settled", "move_not_allowed"],
			["settled", "move_not_allowed"],
			["refused", "move_not_allowed"],
			["done", ""],
			["done", ""],
			["done", ""],
			["done", ""],
		],
	);
	deepEqual(
		problems.map((problem) => [problem.kind, "entry" in problem && problem.entry.id]),
		[
			["refused", 6],
			["refused", 7],
			["refused", 11],
		],
	);
});

test("a decision that is committed before the report of its sale waits for it, and the report does not wait for the decision", async () => {
	const { add, outbox, states, problems, service, passTime } = openShop();
	add({ call: "approve", orderId: "1001" });
	add({ call: "reverse", orderId: "1001", reason: "RETURN" });
	add({ ...sale, orderId: "1002" });
	deepEqual(await outbox.drain(), { done: 1, refused: 0, failed: 1, isPaused: false });
	deepEqual(states(), ["open", "open", "done"], "the reversal waits for the approval");
	add(sale);
	add({ call: "refund", orderId: "1001", refundId: "R-1", amount: "1.00", reason: "RETURN" });
	equal((await outbox.drain()).done, 1);
	deepEqual(states(), ["open", "open", "done", "done", "open"]);
	passTime(longestPauseMs);
	deepEqual(await outbox.drain(), { done: 3, refused: 0, failed: 0, isPaused: false });
	deepEqual(
		problems.map((problem) => [problem.kind, "failure" in problem && problem.failure.code]),
		[["delayed", "unknown_order"]],
	);
	deepEqual(
		service.conversions().map(({ orderId, status }) => [orderId, status]),
		[
			["1002", "RECORDED"],
			["1001", "REVERSED"],
		],
	);
	deepEqual(states().at(-1), "settled", "the refund of a sale that was reversed");
});

test("a decision about an order that is never reported is refused after five minutes, and is no outage", async () => {
	const { add, outbox, rows, problems, passTime } = openShop();
	for (const orderId of ["1", "2", "3", "4"]) add({ call: "approve", orderId });
	let passedMs = 0;
	deepEqual(await outbox.drain(), { done: 0, refused: 0, failed: 4, isPaused: false });
	while (rows.some(({ state }) => state === "open")) {
		passTime(1_000);
		passedMs += 1_000;
		equal((await outbox.drain()).isPaused, false);
	}
	equal(passedMs > 200_000 && passedMs <= 320_000, true, `${passedMs} ms`);
	deepEqual(
		rows.map((row) => [row.state, "code" in row && row.code]),
		Array(4).fill(["refused", "unknown_order"]),
	);
	equal(problems.filter(({ kind }) => kind === "refused").length, 4);
});

for (const [code, status, state] of [
	["move_not_allowed", "PARKED", "open"],
	["move_not_allowed", "EXPIRED", "open"],
	["not_confirmed", "RECORDED", "open"],
	["move_not_allowed", "APPROVED", "refused"],
	["nothing_to_refund", "RECORDED", "settled"],
	["too_many_refunds", "RECORDED", "refused"],
] as const) {
	test(`a refund that is refused with ${code} is ${state} if the conversion is ${status}`, async () => {
		const detail = "Made up.";
		const { add, outbox, rows } = openShop({}, ({ conversions }) => ({
			refund: async () => ({
				ok: false,
				kind: "refused",
				retryable: false,
				code,
				status: 409,
				detail,
				attempts: 1,
			}),
			async conversions(...query) {
				const page = await conversions(...query);
				return page.ok ? { ...page, conversions: page.conversions.map((one) => ({ ...one, status })) } : page;
			},
		}));
		add(sale);
		add({ call: "refund", orderId: "1001", refundId: "R-1", amount: "1.00", reason: "RETURN" });
		await outbox.drain();
		deepEqual([rows[1]?.state, rows[1]?.detail], [state, detail]);
	});
}

test("if the present status cannot be read, the call is tried again, and a stop leaves it open", async () => {
	const { add, outbox, service, rows, problems, passTime } = openShop({}, ({ conversions }) => ({
		async conversions(...query) {
			if (isStopping) void outbox.stop();
			else service.setOutage("no_answer");
			const page = await conversions(...query);
			service.setOutage(null);
			return page;
		},
	}));
	let isStopping = false;
	add(sale);
	await outbox.drain();
	service.decide("1001", { move: "reverse", reason: "RETURN" });
	add({ call: "refund", orderId: "1001", refundId: "R-1", amount: "1.00", reason: "RETURN" });
	equal((await outbox.drain()).failed, 1);
	deepEqual([rows[1]?.state, rows[1]?.attempts], ["open", 1]);
	isStopping = true;
	passTime(longestPauseMs);
	await outbox.drain();
	deepEqual([rows[1]?.state, rows[1]?.attempts, problems.length], ["open", 1, 1]);
});

test("a wrong secret refuses no sale: the outbox pauses, says so, and sends everything once it is right", async () => {
	const secrets = ["rbs_unknown", "rbs_unknown_too"];
	const { add, outbox, problems, states, passTime } = openShop(
		{},
		() => ({}),
		() => secrets,
	);
	add(sale);
	add({ ...sale, orderId: "1002" });
	deepEqual(await outbox.drain(), { done: 0, refused: 0, failed: 1, isPaused: true });
	deepEqual(states(), ["open", "open"]);
	const [problem] = problems;
	deepEqual(problem && "code" in problem && [problem.kind, problem.code], ["misconfigured", "bad_signature"]);
	match(
		problem && "detail" in problem ? problem.detail : "",
		/The first of the 2 secrets signed this request/,
	);
	secrets.unshift("rbs_fake");
	passTime(longestPauseMs);
	equal((await outbox.drain()).done, 2);
});

test("a damaged row is refused and reported, and holds back nothing", async () => {
	const { add, outbox, states } = openShop();
	for (const damaged of ['{"call":"explode","orderId":"1001"}', "null", '"record"']) add(JSON.parse(damaged));
	add(sale);
	deepEqual(await outbox.drain(), { done: 1, refused: 3, failed: 0, isPaused: false });
	deepEqual(states(), ["refused", "refused", "refused", "done"]);
});

test("a table that cannot be read is reported, and the outbox continues when it can", async () => {
	const { add, outbox, storage, problems } = openShop();
	add(sale);
	storage.isBroken = true;
	deepEqual(await outbox.drain(), { done: 0, refused: 0, failed: 0, isPaused: true });
	deepEqual(
		problems.map((problem) => "error" in problem && String(problem.error)),
		["Error: disk full"],
	);
	storage.isBroken = false;
	equal((await outbox.drain()).done, 1);
});

test("more entries than one page holds are all sent", async () => {
	const { add, outbox } = openShop();
	for (let order = 0; order < 250; order++) add({ ...sale, orderId: `many-${order}` });
	equal((await outbox.drain()).done, 250);
});

test("a started outbox sends what is there, and what is added later after wake", async () => {
	const sent: string[] = [];
	const arrived: ((orderId: string) => void)[] = [];
	const next = () => new Promise<string>((resolve) => arrived.push(resolve));
	const { add, outbox } = openShop({}, ({ record }) => ({
		async record(reported, options) {
			const result = await record(reported, options);
			sent.push(reported.orderId);
			for (const resolve of arrived.splice(0)) resolve(reported.orderId);
			return result;
		},
	}));
	add(sale);
	const first = next();
	outbox.start();
	equal(await first, "1001");
	const second = next();
	add({ ...sale, orderId: "1002" });
	outbox.wake();
	equal(await second, "1002");
	await outbox.stop();
	outbox.wake();
	deepEqual(sent, ["1001", "1002"]);
});

test("stop ends a call that is being made, and its entry stays open without a failure", async () => {
	const calling = Promise.withResolvers<void>();
	const { add, rows, outbox, problems } = openShop({}, () => ({
		record: (_sale, options) =>
			new Promise((resolve) => {
				const aborted = {
					ok: false,
					kind: "aborted",
					retryable: true,
					detail: "ended",
					attempts: 1,
				} as const;
				options?.signal?.addEventListener("abort", () => resolve(aborted));
				calling.resolve();
			}),
	}));
	add(sale);
	outbox.start();
	await calling.promise;
	await outbox.stop();
	deepEqual([rows[0]?.state, rows[0]?.attempts, problems], ["open", 0, []]);
});

test("an option that cannot work is refused at the start", () => {
	const { client, load, save } = {
		client: createClient(createFakeService().clientOptions),
		load: (): OutboxEntry[] => [],
		save: () => undefined,
	};
	const wrong: unknown[] = [undefined, { load, save }, { client, save }, { client, load }];
	for (const options of wrong) throws(() => Reflect.apply(createOutbox, undefined, [options]), TypeError);
	// A timer with a longer delay than 2,147,483,647 ms would run at once, again and again.
	for (const checkEveryMs of [0, 0.5, 2_147_483_648]) {
		throws(() => createOutbox({ client, load, save, checkEveryMs }), /checkEveryMs/);
	}
});
