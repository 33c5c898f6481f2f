// Tests the time that all processes share: what the database's answers prove about the time, how long the process can
// rely on it without them, and what a service does while its machine's clock and the database's clock are far apart.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { DAY_MS, HOUR_MS } from "#core/domain/time.ts";
import type { Clock } from "#core/ports.ts";
import { realClock } from "../../src/outside/clock.ts";
import { ASKED_AGAIN_AFTER_MS, ASKED_EVERY_MS, openSharedClock } from "../../src/service/shared-clock.ts";
import { START_MS } from "../support/clock.ts";
import { openService } from "../support/open-service.ts";
import { signedRequest } from "../support/signed-request.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { until } from "../support/until.ts";

interface Journey {
	/** Time that the query takes to reach the server. `backMs` is the time that the answer takes to come back. */
	thereMs?: number;
	backMs?: number;
}

/**
 * A machine and a database server whose clocks can be set, and a connection that takes as long as a test
 * says.
 */
function createWorld() {
	let passedMs = 12_345;
	let journey: Required<Journey> | null = { thereMs: 0, backMs: 0 };
	let timers: { delayMs: number; run: () => void }[] = [];
	let answers = Promise.resolve();
	let asked = 0;
	const ahead = { machineMs: 0, serverMs: 0 };
	const serverMs = () => START_MS + passedMs + ahead.serverMs;
	const machine: Clock = {
		nowMs: () => START_MS + passedMs + ahead.machineMs,
		monotonicMs: () => passedMs,
		isSure: () => true,
		after(delayMs, run) {
			const timer = { delayMs, run };
			timers.push(timer);
			return () => {
				timers = timers.filter((one) => one !== timer);
			};
		},
		yieldLoop: async () => undefined,
	};
	const readTime = async () => {
		asked++;
		if (journey === null) throw new Error("no route to host");
		passedMs += journey.thereMs;
		const readMs = serverMs();
		await answers;
		passedMs += journey.backMs;
		return readMs;
	};
	const setJourney = (next: Journey | null) => {
		journey = next === null ? null : { thereMs: next.thereMs ?? 0, backMs: next.backMs ?? 0 };
	};
	return {
		ahead,
		machine,
		serverMs,
		delays: () => timers.map(({ delayMs }) => delayMs),
		setJourney,
		pass: (ms: number) => {
			passedMs += ms;
		},
		/** Suspends the machine. The monotonic clock stands still, and both other clocks go on. */
		suspend: (ms: number) => {
			ahead.machineMs += ms;
			ahead.serverMs += ms;
		},
		/** Holds the answers to all later queries for the time. The returned function releases them. */
		holdAnswers: () => {
			const { promise, resolve } = Promise.withResolvers<void>();
			answers = promise;
			asked = 0;
			return resolve;
		},
		/** Number of queries since the answers were last held. */
		asked: () => asked,
		/** Waits until the next query for the time was answered or has failed. */
		async ask(next: Journey | null = {}) {
			setJourney(next);
			const [timer, ...others] = timers;
			deepEqual(others, [], "one question at a time");
			timers = [];
			passedMs += timer?.delayMs ?? 0;
			timer?.run();
			await until(() => timers.length === 1);
		},
		open(first: Journey | null = {}) {
			setJourney(first);
			return openSharedClock(machine, readTime);
		},
	};
}

test("the first answer is taken as the time in the middle of its round trip, and later answers correct it only as far as they prove", async () => {
	const world = createWorld();
	world.ahead.serverMs = 3_000;
	const clock = await world.open({ thereMs: 30, backMs: 10 });
	const error = () => clock.nowMs() - world.serverMs();
	equal(error(), 10, "the error is half the difference between the ways there and back");
	await world.ask({ thereMs: 500, backMs: 700 });
	equal(error(), 10, "a slow answer changes nothing");
	await world.ask({ thereMs: 2, backMs: 2 });
	equal(error(), 2, "a quick answer proves that the clock was ahead, and corrects it");
	await world.ask({ thereMs: 4_000, backMs: 9_000 });
	equal(error(), 2);
	await world.ask();
	equal(error(), 0);
	equal(clock.offsetMs(), -3_000);
	await clock.stop();
});

test("if the server's clock is set forward or back, the shared time follows it, but never further than an answer proves", async () => {
	const world = createWorld();
	const clock = await world.open();
	const error = () => clock.nowMs() - world.serverMs();
	world.ahead.serverMs += DAY_MS;
	equal(error(), -DAY_MS);
	await world.ask({ thereMs: 1, backMs: 2 });
	equal(error(), -2);
	world.ahead.serverMs -= 2 * DAY_MS;
	await world.ask({ thereMs: 1, backMs: 2 });
	equal(error(), 1);
	world.ahead.serverMs += 10_000;
	await world.ask({ thereMs: 1_000, backMs: 3_000 });
	equal(error(), -3_000);
	await clock.stop();
});

test("while the database is away it is asked every second, time continues, and a stop leaves nothing running", async () => {
	const world = createWorld();
	world.ahead.serverMs = 4_000;
	const clock = await world.open();
	deepEqual(world.delays(), [ASKED_EVERY_MS]);
	for (let asked = 0; asked < 3; asked++) {
		await world.ask(null);
		deepEqual(world.delays(), [ASKED_AGAIN_AFTER_MS]);
	}
	world.pass(HOUR_MS);
	equal(clock.nowMs(), world.serverMs(), "the clock is still right an hour later");
	equal(clock.isSure(), true);
	world.ahead.serverMs = 4_900;
	await world.ask();
	deepEqual(world.delays(), [ASKED_EVERY_MS]);
	equal(clock.nowMs(), world.serverMs());
	await clock.stop();
	deepEqual(world.delays(), []);
});

test("a stop waits for the query in flight, and no query follows", async () => {
	const world = createWorld();
	const gate = Promise.withResolvers<number>();
	let asked = 0;
	const readTime = () => (asked++ === 0 ? Promise.resolve(world.serverMs()) : gate.promise);
	const clock = await openSharedClock({ ...world.machine, after: runAtOnce }, readTime);
	let hasStopped = false;
	const stopped = clock.stop().then(() => {
		hasStopped = true;
	});
	await new Promise((resolve) => setImmediate(resolve));
	equal(hasStopped, false);
	gate.resolve(world.serverMs());
	await stopped;
	equal(asked, 2);
});

function runAtOnce(_delayMs: number, run: () => void): () => void {
	run();
	return () => undefined;
}

test("a process is sure of the time exactly while its machine's clock is within a minute of the shared time", async () => {
	const world = createWorld();
	const clock = await world.open();
	for (const [machineMs, isSure] of [
		[59_000, true],
		[60_000, true],
		[61_000, false],
		[-59_000, true],
		[-61_000, false],
		[0, true],
	] as const) {
		world.ahead.machineMs = machineMs;
		await world.ask();
		equal(clock.isSure(), isSure, `${machineMs} ms`);
		equal(clock.offsetMs(), machineMs);
		equal(clock.nowMs(), world.serverMs(), "the machine's clock is only compared");
	}
	world.ahead.serverMs = 61_000;
	equal(clock.isSure(), true, "the process has not asked again yet");
	await world.ask();
	equal(clock.isSure(), false);
	world.ahead.serverMs = 59_000;
	await world.ask();
	equal(clock.isSure(), true);
	await clock.stop();
});

test("after the machine was suspended or its clock was set, the database is asked at once, and nobody relies on the time before the answer", async () => {
	const world = createWorld();
	const clock = await world.open();
	for (const change of [
		() => world.suspend(20_000),
		() => world.suspend(1_001),
		() => {
			world.ahead.machineMs -= 1_001;
		},
	]) {
		const answer = world.holdAnswers();
		change();
		deepEqual([clock.isSure(), clock.isSure()], [false, false], "without another question");
		await until(() => world.asked() === 1);
		deepEqual([clock.isSure(), world.asked()], [false, 1], "it is asked once");
		answer();
		await until(clock.isSure);
		equal(clock.nowMs(), world.serverMs());
		deepEqual(world.delays(), [ASKED_EVERY_MS]);
	}
	world.suspend(1_000);
	equal(clock.isSure(), true, "a difference of a second is no suspension");
	await clock.stop();
});

test("an answer that waited while the machine was suspended does not make the process sure of the time", async () => {
	const world = createWorld();
	const clock = await world.open();
	const first = world.holdAnswers();
	world.suspend(20_000);
	equal(clock.isSure(), false);
	await until(() => world.asked() === 1);
	world.suspend(20_000);
	const second = world.holdAnswers();
	first();
	await until(() => !clock.isSure() && world.asked() === 1);
	second();
	await until(clock.isSure);
	equal(clock.nowMs(), world.serverMs());
	await clock.stop();
});

test("a machine that wakes while the database is away asks it every second, and is sure again after its first answer", async () => {
	const world = createWorld();
	const clock = await world.open();
	world.setJourney(null);
	world.suspend(20_000);
	equal(clock.isSure(), false);
	await until(() => world.delays()[0] === ASKED_AGAIN_AFTER_MS);
	equal(clock.isSure(), false);
	deepEqual(world.delays(), [ASKED_AGAIN_AFTER_MS], "it is not asked more often");
	await world.ask();
	deepEqual([clock.isSure(), clock.nowMs()], [true, world.serverMs()]);
	await clock.stop();
});

test("without a first answer from PostgreSQL the clock does not open, and on SQLite it is the machine's clock", async () => {
	const world = createWorld();
	await rejects(world.open(null), /no route to host/);
	deepEqual(world.delays(), []);
	const clock = await openSharedClock(world.machine, null);
	world.ahead.machineMs = DAY_MS;
	deepEqual([clock.nowMs(), clock.offsetMs(), clock.isSure()], [world.machine.nowMs(), null, true]);
	await clock.stop();
	deepEqual(world.delays(), []);
});

test("the shared clock reads PostgreSQL's own time, and follows it when the server's clock is set", async (t) => {
	const database = await createTestDatabase("PostgreSQL");
	t.after(() => database.remove());
	const { db } = database.open();
	await sql`create function public.clock_timestamp() returns timestamptz language sql volatile
		as 'select pg_catalog.clock_timestamp() + interval ''1 day'''`.execute(db);
	const name = new URL(database.url).pathname.slice(1);
	await sql.raw(`alter database ${name} set search_path = public, pg_catalog`).execute(db);
	const quick: Clock = { ...realClock, after: (delayMs, run) => realClock.after(delayMs / 100, run) };
	const clock = await openSharedClock(quick, database.open().readTime);
	t.after(() => clock.stop());
	const isAbout = (atMs: number) => Math.abs(clock.nowMs() - atMs) < 10_000;
	ok(isAbout(Date.now() + DAY_MS));
	equal(Number.isInteger(clock.nowMs()), true);
	equal(clock.isSure(), false);
	await sql`drop function public.clock_timestamp()`.execute(db);
	await until(clock.isSure);
	ok(isAbout(Date.now()));
	// The database server uses this machine's clock and the round trip is short, so the offset is almost zero.
	await until(() => Math.abs(clock.offsetMs() ?? Number.NaN) <= 20);
});

test("a service uses PostgreSQL's time, and accepts no signed call while its own clock and PostgreSQL's are too far apart", async (t) => {
	let machineAheadMs = 7_000;
	const machineClock: Clock = { ...realClock, nowMs: () => Date.now() + machineAheadMs };
	const settings = { RINGBACK_METRICS_ADDRESS: "127.0.0.1:0" };
	const { service, log, close } = await openService({ database: "PostgreSQL", machineClock, settings });
	t.after(close);
	const [warning, ...others] = log.lines.filter(({ message }) => message.includes("clock"));
	deepEqual(others, []);
	equal(warning?.level, "warn");
	const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
	match(metrics, /^ringback_clock_offset_seconds (?:[56]\.\d+|7(?:\.0\d*)?)$/m);
	const { programme, credentials } = await makeShop(service);
	ok(programme.created_at_ms <= Date.now(), "the time is that of the database's clock");
	const { brand } = await service.network.wire.read();
	const sale = { orderId: "A-1", basketValue: "10.00", currency: "EUR" };
	const call = { body: sale, nowMs: Date.now(), nonce: "sent-again-later", brand };
	const signed = signedRequest("POST", "/v1/conversions", credentials, call);
	const send = async () => {
		const { method, headers } = signed;
		const answer = await fetch(`${service.url}/v1/conversions`, {
			method,
			headers,
			body: JSON.stringify(sale),
		});
		return { status: answer.status, json: (await answer.json()) as { code?: string; detail?: string } };
	};
	const count = async (table: "conversions" | "nonces") =>
		(await service.store.db.selectFrom(table).selectAll().execute()).length;
	const ready = async () => (await fetch(`${service.url}/readyz`)).status;
	const health = async () =>
		(await (await fetch(`${service.metricsUrl}/health`)).json()) as { service: string; reason?: string };

	equal(await ready(), 200);
	machineAheadMs = 61_000;
	equal(await ready(), 503);
	const details = await health();
	equal(details.service, "running");
	match(details.reason ?? "", /clock and the database server's are more than a minute apart/);
	const refused = await send();
	deepEqual([refused.status, refused.json.code], [503, "unavailable"]);
	match(refused.json.detail ?? "", /^Our clock is being checked.* Send it again later, signed anew\.$/);
	deepEqual([await count("conversions"), await count("nonces")], [0, 0]);
	const pixel = await fetch(`${service.url}/pixel/${programme.public_id}.gif?orderId=P-1&basketValue=1`);
	equal(pixel.status, 200);
	await pixel.bytes();
	equal(await count("conversions"), 1, "pixel calls are still accepted");

	machineAheadMs = 0;
	await until(async () => (await ready()) === 200);
	equal((await health()).reason, undefined);
	equal((await send()).status, 201, "its nonce was not spent");
	equal(await count("conversions"), 2);
});
