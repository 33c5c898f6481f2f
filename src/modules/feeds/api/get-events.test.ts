// Tests the event stream as a listener sees it. Each event is signed like its callback, and the stream has
// exactly the events of the callbacks. The number of streams is limited, and a stream ends when its key is
// revoked, its secret ends, the clock is uncertain or the service stops.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { verifyPostback } from "@ringback/receiver";
import type {
	KyselyPlugin,
	PluginTransformQueryArgs,
	PluginTransformResultArgs,
	QueryResult,
	RootOperationNode,
	UnknownRow,
} from "kysely";
import { makeShop, openTestShop, read, START_MS, type TestShop } from "#core/api/test-shop.test-support.ts";
import { bodySentAt } from "#core/domain/event.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { revokeKey } from "#core/programmes/keys.ts";
import { endReplacedSecrets } from "#core/programmes/signing-secret.ts";
import { readIntegrationChecks } from "#core/store/queries/first-times.ts";
import { setProgramme } from "../../../../test/support/change-rows.ts";
import { createClock, type MovableClock, settle } from "../../../../test/support/clock.ts";
import { replaceSecret } from "../../../../test/support/replace-secret.ts";
import { addConversion } from "../../../../test/support/rows.ts";
import { type Credentials, signedRequest } from "../../../../test/support/signed-request.ts";
import { MAX_STREAMS, MAX_STREAMS_A_RECEIVER } from "./event-streams.ts";
import { ANSWER_RATE, MAX_ANSWERS } from "./post-event-answers.ts";

const LOOK_MS = 500;

test("a stream begins with the programme and a position, and then has every field of the callbacks", async (t) => {
	const { shop, listen, clock } = await open(t);
	const stream = await listen();
	const [opening] = await stream.take();
	assert.equal(opening?.event, "listening");
	assert.deepEqual(JSON.parse(opening?.data ?? ""), {
		programId: shop.programme.public_id,
		testOnly: false,
		hasPostbackUrl: true,
	});
	assert.match(opening?.id ?? "", /^[\w-]{20,}$/);

	await shop.call("POST", "/v1/conversions", { body: { orderId: "A-1", basketValue: "100.00" } });
	await shop.call("POST", "/v1/reversals", { body: { orderId: "A-1", reason: "RETURN" } });
	await clock.moveBy(LOOK_MS);
	const told = await stream.take();
	assert.deepEqual(
		told.map(({ event }) => event),
		["conversion.recorded", "conversion.reversed"],
	);
	const outbox = await shop.store.db.selectFrom("events").select(["name", "body"]).orderBy("id").execute();
	assert.equal(outbox.length, 2);
	assert.deepEqual(
		told.map(({ data }) => data),
		outbox.map(({ name, body }) => bodySentAt(name, body, clock.nowMs())),
		"byte for byte the body of a callback that is sent now",
	);
	assert.deepEqual(
		(await shop.inbound()).map(({ outcome, http_status }) => [outcome, http_status]),
		[
			["LISTENING", 200],
			["RECORDED", 201],
			["REVERSED", 200],
		],
	);
});

test("each event is signed like its callback, with the active secret and a new nonce", async (t) => {
	const { shop, listen, clock } = await open(t);
	const stream = await listen();
	for (const orderId of ["A-1", "A-2"]) {
		await shop.call("POST", "/v1/conversions", { body: { orderId, basketValue: "1.00" } });
	}
	await clock.moveBy(LOOK_MS);
	const told = (await stream.take()).slice(1);
	const verify = (secret: string) =>
		Promise.all(
			told.map(({ event = "", signed, data }) =>
				verifyPostback({
					path: signed?.path ?? "",
					headers: {
						"X-Service-Event": event,
						"X-Service-Timestamp": signed?.timestamp ?? "",
						"X-Service-Nonce": signed?.nonce ?? "",
						"X-Service-Signature": signed?.signature ?? "",
					},
					rawBody: data,
					secret,
					now: clock.nowMs(),
				}).then(({ ok }) => ok),
			),
		);
	assert.deepEqual(await verify(shop.credentials.secret), [true, true]);
	assert.deepEqual(await verify("rbs_another"), [false, false]);
	assert.equal(new Set(told.map(({ signed }) => signed?.nonce)).size, 2);
});

test("a listener's answers are stored for its own programme's events, while it listens and a little longer, and at a limited rate", async (t) => {
	const { shop, listen, clock } = await open(t);
	const other = await makeShop(shop.deps);
	const sell = async (credentials: Credentials) => {
		const body = { orderId: "A-1", basketValue: "1.00" };
		const answer = await shop.request(
			signedRequest("POST", "/v1/conversions", credentials, { body, nowMs: clock.nowMs() }),
		);
		return (await read(answer)).json.conversion?.id ?? "";
	};
	const own = await sell(shop.credentials);
	const foreign = await sell(other.credentials);
	const heard = (conversionId: string, more: object = {}) => ({
		conversionId,
		event: "conversion.recorded",
		outcome: "answered",
		status: 204,
		tookMs: 7,
		...more,
	});
	const tell = async (...answers: object[]) => {
		const request = signedRequest("POST", "/v1/events/answers", shop.credentials, {
			body: { answers },
			nowMs: clock.nowMs(),
		});
		const { status, json } = await read(await shop.request(request));
		return json.kept ?? status;
	};
	assert.equal(await tell(heard(own)), 0, "no stream was opened");
	const stream = await listen();
	assert.equal(
		await tell(heard(own), heard(foreign), heard(own, { event: "conversion.approved" })),
		1,
		"events of another shop and events that never happened are not stored",
	);
	const [kept] = await shop.store.db.selectFrom("local_answers").selectAll().execute();
	assert.deepEqual(
		[kept?.conversion, kept?.outcome, kept?.http_status, kept?.took_ms],
		[own, "answered", 204, 7],
	);
	for (const odd of [
		{ status: 99 },
		{ status: undefined },
		{ outcome: "timeout" },
		{ code: "two words" },
		{ outcome: "great" },
		{ tookMs: -1 },
		{ more: 1 },
	]) {
		assert.equal(await tell(heard(own, odd)), 422, JSON.stringify(odd));
	}
	const unsaid = heard(own, { status: undefined });
	const refused = await shop.call("POST", "/v1/events/answers", { body: { answers: [heard(own), unsaid] } });
	assert.deepEqual(
		[refused.json.code, refused.json.field, refused.json.detail],
		["invalid_field", "answers.1.status", "answers.1.status is missing. Send it as a number."],
	);
	await clock.moveBy(10 * 60_000);
	assert.equal(await tell(heard(own)), 1, "a stream that has been silent for a while is still open");
	await clock.moveBy(20 * 60_000);
	assert.equal(stream.hasEnded, true);
	assert.equal(await tell(heard(own)), 0, "the stream was closed longer ago than a restart takes");
	await listen();
	let more = 0;
	for (let n = 0; n < 6; n++) {
		more += Number(await tell(...Array.from({ length: MAX_ANSWERS }, () => heard(own))));
	}
	assert.ok(more >= ANSWER_RATE.burst && more < ANSWER_RATE.burst + 20, `${more} were kept`);
	await clock.moveBy(20_000);
	assert.equal(await tell(...[1, 2, 3, 4].map((tookMs) => heard(own, { tookMs }))), 2);
	const newest = await shop.store.db.selectFrom("local_answers").select("took_ms").orderBy("id").execute();
	assert.deepEqual(
		newest.slice(-2).map(({ took_ms }) => took_ms),
		[3, 4],
		"if there are too many, the newest are stored, in their order",
	);
});

test("neither a listener's connection nor its answers count as the first signed call of the shop's server", async (t) => {
	const { shop, listen } = await open(t);
	const firstSigned = async () =>
		(await readIntegrationChecks(shop.store.db, shop.programme.id)).hasSignedRequest;
	await listen();
	const told = { conversionId: `cnv_${"0".repeat(26)}`, event: "conversion.recorded", outcome: "timeout" };
	assert.equal((await shop.call("POST", "/v1/events/answers", { body: { answers: [told] } })).status, 200);
	assert.equal(await firstSigned(), false);
	await shop.call("GET", "/v1/conversions");
	assert.equal(await firstSigned(), true);
});

test("cursors do not reveal sales of other shops: all differ, and all have the same length", async (t) => {
	const { shop, listen, clock } = await open(t);
	const other = await makeShop(shop.deps);
	const cursors: string[] = [];
	for (const sells of [false, false, true, true]) {
		const body = { orderId: `order ${cursors.length}`, basketValue: "1.00" };
		const options = { body, nowMs: clock.nowMs() };
		if (sells) await shop.request(signedRequest("POST", "/v1/conversions", other.credentials, options));
		const stream = await listen();
		const [opening] = await stream.take();
		await clock.moveBy(16_000);
		const [heartbeat] = await stream.take();
		cursors.push(opening?.id ?? "", heartbeat?.id ?? "");
		await stream.cancel();
	}
	assert.equal(new Set(cursors).size, cursors.length);
	assert.equal(new Set(cursors.map((cursor) => cursor.length)).size, 1);
});

test("a batch of other shops' moves sends nothing, and the next heartbeat has the position after it", async (t) => {
	const { shop, listen, clock, counter } = await open(t);
	const other = await makeShop(shop.deps);
	const move = await anyMove({ store: shop.store, programme: other.programme });
	const stream = await listen();
	await stream.take();
	const before = counter.count;
	for (let n = 0; n < 2; n++) {
		const rows = Array.from({ length: 500 }, () => move);
		await shop.store.db.insertInto("moves").values(rows).execute();
	}
	await clock.moveBy(LOOK_MS);
	await clock.moveBy(0);
	assert.ok(counter.count - before >= 3, "the batches after it are read without a pause");
	assert.deepEqual(await stream.take(), []);
	await clock.moveBy(16_000);
	const [heartbeat] = await stream.take();
	await shop.store.db
		.insertInto("moves")
		.values(await anyMove(shop))
		.execute();
	const again = await listen(`/v1/events?after=${heartbeat?.id}`);
	await clock.moveBy(LOOK_MS);
	assert.deepEqual(await again.events(), ["conversion.approved any"]);
});

test("test=true sends only events of test conversions", async (t) => {
	const { shop, listen, clock } = await open(t);
	const stream = await listen("/v1/events?test=true");
	for (const isTest of [true, false]) {
		const body = { orderId: `test ${isTest}`, basketValue: "1.00", test: isTest };
		await shop.call("POST", "/v1/conversions", { body });
	}
	await clock.moveBy(LOOK_MS);
	assert.deepEqual(await stream.events(), ["conversion.recorded test true"]);
});

test("after= continues after an event or a heartbeat, with nothing missing and nothing twice", async (t) => {
	const { shop, listen, clock } = await open(t);
	const first = await listen();
	const [opening] = await first.take();
	await clock.moveBy(16_000);
	const [heartbeat] = await first.take();
	await first.cancel();
	for (const orderId of ["A", "B", "C"]) {
		await shop.call("POST", "/v1/conversions", { body: { orderId, basketValue: "1.00" } });
	}
	for (const position of [opening, heartbeat]) {
		const second = await listen(`/v1/events?after=${position?.id}`);
		await clock.moveBy(LOOK_MS);
		assert.deepEqual(
			(await second.take()).slice(1).map(({ data }) => JSON.parse(data).orderId),
			["A", "B", "C"],
		);
		await second.cancel();
	}
	const third = await listen(`/v1/events?after=${opening?.id}`);
	await clock.moveBy(LOOK_MS);
	const [, , behindB] = await third.take();
	const fourth = await listen(`/v1/events?after=${behindB?.id}`);
	await clock.moveBy(LOOK_MS);
	assert.deepEqual(await fourth.events(), ["conversion.recorded C"]);
});

test("a cursor of another programme is refused, and so is one that this database has not reached", async (t) => {
	const { shop, listen, refuse } = await open(t);
	await shop.call("POST", "/v1/conversions", { body: { orderId: "A", basketValue: "1.00" } });
	const [opening] = await (await listen()).take();
	const other = await makeShop(shop.deps);
	const target = `/v1/events?after=${opening?.id}`;
	assert.equal((await refuse(target, other.credentials)).json.code, "malformed_cursor");
	await shop.store.db.deleteFrom("moves").execute();
	assert.equal((await refuse(target)).json.code, "malformed_cursor");
});

test("a revoked key ends its stream before the next message, and a silent stream within a second", async (t) => {
	const { shop, listen, clock } = await open(t);
	const quiet = await listen("/v1/events?test=true");
	const stream = await listen();
	await stream.take();
	await replaceSecret(shop.deps, shop.programme.public_id);
	const keys = await shop.store.db.selectFrom("api_keys").select("public_id").execute();
	await revokeKey(shop.deps, shop.programme.public_id, keys[0]?.public_id ?? "", COMMAND_LINE);
	await shop.store.db
		.insertInto("moves")
		.values(await anyMove(shop))
		.execute();
	await clock.moveBy(LOOK_MS);
	assert.deepEqual([await stream.events(), stream.hasEnded], [[], true]);
	await clock.moveBy(LOOK_MS);
	assert.deepEqual([await quiet.events(), quiet.hasEnded], [[], true]);
	assert.equal(clock.waitingTimers, 0);
});

test("a silent stream ends within a second if another process revokes its key, ends its secret or archives the programme", async (t) => {
	const { shop, listen, clock } = await open(t);
	const { db } = shop.store;
	const endings: Readonly<Record<string, (programmeId: number, receiverId: ReceiverId) => Promise<unknown>>> =
		{
			key: (id) =>
				db.updateTable("api_keys").set({ revoked_at_ms: 1 }).where("programme_id", "=", id).execute(),
			secret: (_, id) =>
				db.updateTable("signing_secrets").set({ ended_at_ms: 1 }).where("receiver_id", "=", id).execute(),
			programme: (id) =>
				db.updateTable("programmes").set({ archived_at_ms: 1 }).where("id", "=", id).execute(),
		};
	const bystander = await listen();
	for (const [what, end] of Object.entries(endings)) {
		const { programme, credentials } = await makeShop(shop.deps);
		const stream = await listen("/v1/events", credentials);
		await clock.moveBy(2_000);
		await stream.take();
		assert.equal(stream.hasEnded, false, what);
		await end(programme.id, programme.receiver_id);
		await clock.moveBy(1_000);
		assert.deepEqual([await stream.take(), stream.hasEnded], [[], true], what);
	}
	assert.equal(bystander.hasEnded, false);
});

test("nobody can listen to an archived programme", async (t) => {
	const { shop, refuse } = await open(t);
	await setProgramme(shop.store.db, shop.programme.id, { archived_at_ms: START_MS });
	const { status, json } = await refuse();
	assert.deepEqual([status, json.code], [403, "programme_archived"]);
});

test("a stream ends before the next message while the clock is uncertain", async (t) => {
	let isSure = true;
	const { shop, listen, refuse, clock } = await open(t, () => isSure);
	const stream = await listen();
	await stream.take();
	await shop.call("POST", "/v1/conversions", { body: { orderId: "A-1", basketValue: "1.00" } });
	isSure = false;
	await clock.moveBy(LOOK_MS);
	assert.deepEqual([await stream.events(), stream.hasEnded], [[], true]);
	assert.equal((await refuse()).json.code, "unavailable");
});

test("ending a secret ends the streams that were opened with it", async (t) => {
	const { shop, listen, clock } = await open(t);
	const stream = await listen();
	await stream.take();
	await replaceSecret(shop.deps, shop.programme.public_id);
	await clock.moveBy(16_000);
	assert.equal(stream.hasEnded, false, "the old secret is valid for a day, unless somebody ends it");
	await endReplacedSecrets(shop.deps, shop.programme.public_id, COMMAND_LINE);
	await shop.store.db
		.insertInto("moves")
		.values(await anyMove(shop))
		.execute();
	await clock.moveBy(LOOK_MS);
	assert.deepEqual([await stream.events(), stream.hasEnded], [[], true]);
});

test("a programme has a limit of streams, and the refusal says so", async (t) => {
	const { shop, listen, refuse } = await open(t);
	for (let n = 0; n < MAX_STREAMS_A_RECEIVER; n++) await listen();
	const { status, json } = await refuse();
	assert.deepEqual([status, json.code], [429, "too_many_streams"]);
	assert.match(json.detail ?? "", /^5 streams of yours are open/);
	assert.equal((await shop.inbound()).at(-1)?.outcome, "too_many_streams");
});

test("if all places are taken, a programme gets one from the programme that has the most, until each has a fair part", async (t) => {
	const { shop, listen, refuse } = await open(t);
	const shops = [{ credentials: shop.credentials }];
	while (shops.length < MAX_STREAMS / MAX_STREAMS_A_RECEIVER) shops.push(await makeShop(shop.deps));
	const early: StreamReader[] = [];
	for (const { credentials } of shops) {
		for (let n = 0; n < MAX_STREAMS_A_RECEIVER; n++) early.push(await listen("/v1/events", credentials));
	}
	const countEnded = async () => {
		await settle();
		return early.filter(({ hasEnded }) => hasEnded).length;
	};
	const late = await makeShop(shop.deps);
	const streams: StreamReader[] = [];
	for (let n = 1; n < MAX_STREAMS_A_RECEIVER; n++) {
		streams.push(await listen("/v1/events", late.credentials));
		assert.equal(await countEnded(), n, "one stream ends for each new one");
	}
	assert.equal(early[0]?.hasEnded, true, "the oldest of the programme with the most streams ends");
	const { status, json } = await refuse("/v1/events", late.credentials);
	assert.deepEqual([status, json.code], [429, "too_many_streams"]);
	assert.match(json.detail ?? "", /^All 50 places for streams are taken/);
	assert.equal(
		(await refuse()).json.code,
		"too_many_streams",
		"nobody takes a place back from a smaller part",
	);
	assert.equal(await countEnded(), MAX_STREAMS_A_RECEIVER - 1);
	assert.equal(
		streams.some(({ hasEnded }) => hasEnded),
		false,
	);
});

test("when the service stops, every stream ends at once", async (t) => {
	const { listen, refuse, stop, clock } = await open(t);
	const streams = [await listen(), await listen("/v1/events?test=true")];
	stop();
	for (const stream of streams) {
		await stream.take();
		assert.equal(stream.hasEnded, true);
	}
	assert.equal(clock.waitingTimers, 0);
	// The code is not "too many streams", because the listener can reconnect to another process, or to this one
	// a moment later.
	assert.equal((await refuse("/v1/events")).json.code, "unavailable");
});

test("a burst is sent in batches as it is read, and a reader that stops costs one batch and is disconnected", async (t) => {
	const { shop, clock, counter } = await open(t);
	let hangUps = 0;
	const outgoing = { destroy: () => hangUps++ };
	const request = signedRequest("GET", "/v1/events", shop.credentials, { nowMs: clock.nowMs() });
	const response = await shop.request(request, undefined, { outgoing });
	const reader = response.body?.getReader();
	await reader?.read();
	const move = await anyMove(shop);
	for (let n = 0; n < 4; n++) {
		const rows = Array.from({ length: 500 }, () => move);
		await shop.store.db.insertInto("moves").values(rows).execute();
	}
	const before = counter.count;
	const readings = () => counter.count - before;
	await clock.moveBy(LOOK_MS);
	await clock.moveBy(10_000);
	assert.equal(readings(), 1, "nothing more is read until the reader has taken the batch");
	const batch = await reader?.read();
	assert.ok((batch?.value?.byteLength ?? 0) < 500_000);
	await clock.moveBy(0);
	assert.equal(readings(), 2);
	await clock.moveBy(29_000);
	assert.equal(hangUps, 0);
	await clock.moveBy(2_000);
	assert.deepEqual([hangUps, readings(), clock.waitingTimers], [1, 2, 0]);
});

async function open(t: TestContext, isSure: () => boolean = () => true) {
	const clock: MovableClock = createClock(START_MS, { isSure });
	const stopping = new AbortController();
	const counter = new ReadingCounter();
	const shop = await openTestShop(t, {
		change: ({ store }) => ({
			clock,
			stopSignal: stopping.signal,
			store: { ...store, db: store.db.withPlugin(counter) },
		}),
	});
	t.after(() => stopping.abort());
	const listen = async (target = "/v1/events", credentials: Credentials = shop.credentials) => {
		const request = signedRequest("GET", target, credentials, { nowMs: clock.nowMs() });
		const response = await shop.request(request);
		assert.equal(response.status, 200, target);
		const stream = new StreamReader(response);
		await clock.moveBy(0);
		return stream;
	};
	const refuse = async (target = "/v1/events", credentials: Credentials = shop.credentials) => {
		const response = await shop.request(signedRequest("GET", target, credentials, { nowMs: clock.nowMs() }));
		// A status of 200 would mean an endless stream, and the test would hang.
		assert.notEqual(response.status, 200, target);
		return read(response);
	};
	return { shop, clock, counter, listen, refuse, stop: () => stopping.abort() };
}

/** Counts the queries that read events. Only that query has a subquery in its from clause. */
class ReadingCounter implements KyselyPlugin {
	count = 0;

	transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
		if (/"AliasNode".*"passed"/.test(JSON.stringify(node))) this.count++;
		return node;
	}

	async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
		return result;
	}
}

async function anyMove({ store, programme }: Pick<TestShop, "store" | "programme">) {
	const { id } = await addConversion(store, programme.id, { order_id: "any", status: "APPROVED" });
	return {
		programme_id: programme.id,
		conversion_id: id,
		move: "approve",
		to_status: "APPROVED",
		at_ms: START_MS,
	} as const;
}

interface Message {
	event: string | undefined;
	id: string | undefined;
	signed: { path: string; timestamp: string; nonce: string; signature: string } | null;
	data: string;
}

class StreamReader {
	hasEnded = false;
	readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
	#text = "";

	constructor(response: Response) {
		assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
		assert.equal(response.headers.get("cache-control"), "no-store");
		if (response.body === null) throw new Error("no stream");
		this.#reader = response.body.getReader();
		void this.#read();
	}

	async #read(): Promise<void> {
		const decoder = new TextDecoder();
		for (;;) {
			const { done, value } = await this.#reader.read();
			if (done) break;
			this.#text += decoder.decode(value, { stream: true });
		}
		this.hasEnded = true;
	}

	/** Returns the messages that have arrived since the last call. */
	async take(): Promise<Message[]> {
		await settle();
		const messages = this.#text.split("\n\n").filter((text) => text !== "");
		this.#text = "";
		return messages.map((text) => ({
			event: /^event: (.*)$/m.exec(text)?.[1],
			id: /^id: (.*)$/m.exec(text)?.[1],
			signed: JSON.parse(/^signed: (.*)$/m.exec(text)?.[1] ?? "null"),
			data: /^data: (.*)$/m.exec(text)?.[1] ?? "",
		}));
	}

	async events(): Promise<string[]> {
		const messages = await this.take();
		return messages
			.filter(({ event }) => event?.startsWith("conversion.") === true)
			.map(({ event, data }) => `${event} ${JSON.parse(data).orderId}`);
	}

	cancel(): Promise<void> {
		return this.#reader.cancel();
	}
}
