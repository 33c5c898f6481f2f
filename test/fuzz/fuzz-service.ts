// The service's app with a real SQLite database in memory and one shop. Each answer is compared with the
// stored rows.

import { deepEqual, equal, ok } from "node:assert/strict";
import { sql } from "kysely";
import type { AppDeps } from "#core/api/deps.ts";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { httpStatusOf } from "#core/domain/fault.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { openSqlite } from "#core/store/sqlite/store.ts";
import { createApp } from "../../src/app.ts";
import { realClock } from "../../src/outside/clock.ts";
import { makeAppDeps } from "../support/app-deps.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { createLog } from "../support/log.ts";
import { raiseReceiverIds } from "../support/receiver-ids.ts";
import { createSeededRandom, randomPort } from "../support/seeded-random.ts";
import type { Credentials } from "../support/signed-request.ts";

export interface FuzzService {
	deps: AppDeps;
	programme: Programme;
	credentials: Credentials;
	/**
	 * Returns the current time. Each call moves the clock a little, so that every written row has a time of its
	 * own.
	 */
	nowMs(): number;
	moveClock(byMs: number): void;
	/**
	 * Returns a new number each time, so that a case that fast-check shrinks does not find rows of its first
	 * run.
	 */
	nextOrder(): number;
	/**
	 * Sends a request as the HTTP adapter does. `target` is the text of the request line. Fails if the service
	 * logged an error of its own.
	 */
	fetch(request: Request, target: string): Promise<Response>;
	stored(): Promise<Stored>;
	close(): Promise<void>;
}

/** A value that changes whenever a conversion, a move, an event or a delivery is written. */
export type Stored = Readonly<Record<string, number>>;

export interface FuzzAnswer {
	status: number;
	/** Code of the problem, or the outcome word. */
	word: string;
	field: string | undefined;
	json: Readonly<Record<string, unknown>>;
}

const OUTCOMES = ["RECORDED", "PARKED", "CONFIRMED", "DUPLICATE", "APPROVED", "REJECTED", "REVERSED"];

export async function openFuzzService(
	seed: number,
	shop: { parksPixels?: boolean; currency?: string } = {},
): Promise<FuzzService> {
	const store = openSqlite(":memory:", realClock);
	await store.migrate(START_MS);
	await raiseReceiverIds(store);
	const clock = createClock(START_MS);
	let nowMs = START_MS;
	let orders = 0;
	const log = createLog();
	const deps = makeAppDeps({
		store,
		clock: { ...clock, nowMs: () => nowMs },
		random: randomPort(createSeededRandom(seed)),
		log,
	});
	const { programme, credentials } = await makeShop(deps, shop);
	const app = createApp(deps);
	return {
		deps,
		programme,
		credentials,
		nowMs: () => nowMs,
		nextOrder: () => ++orders,
		moveClock: (byMs) => {
			nowMs += byMs;
		},
		async fetch(request, target) {
			nowMs++;
			const lines = log.lines.length;
			const response = await app.fetch(request, { incoming: { url: target } });
			deepEqual(log.lines.slice(lines), []);
			return response;
		},
		stored: () => countStored(deps),
		close: () => store.close(),
	};
}

/** Reads an answer of the signed API, and throws unless it has the form that every answer must have. */
export async function readAnswer(response: Response): Promise<FuzzAnswer> {
	const { status } = response;
	const body: unknown = await response.json();
	ok(typeof body === "object" && body !== null);
	const json: Record<string, unknown> = { ...body };
	ok(status < 500, `${status}: ${JSON.stringify(json)}`);
	if (status < 400) {
		equal(response.headers.get("content-type"), "application/json");
		ok(
			OUTCOMES.includes(String(json["outcome"])) ||
				Array.isArray(json["conversions"]) ||
				"conversion" in json,
		);
		return { status, word: String(json["outcome"]), field: undefined, json };
	}
	equal(response.headers.get("content-type"), "application/problem+json");
	const { code, type, detail, field } = json;
	equal(httpStatusOf(String(code)), status, `the code ${code}`);
	equal(json["status"], status);
	equal(type, `https://ringback.example/problems/${code}`);
	ok(typeof detail === "string" && detail.length > 0);
	ok(field === undefined || typeof field === "string");
	return { status, word: String(code), field, json };
}

async function countStored({ store }: AppDeps): Promise<Stored> {
	const { rows } = await sql<Stored>`select
		(select count(*) from conversions) as conversions,
		(select coalesce(sum(updated_at_ms - ${START_MS}), 0) from conversions) as changed,
		(select count(*) from moves) as moves,
		(select count(*) from events) as events,
		(select count(*) from deliveries) as deliveries,
		(select count(*) from queue) as queue`.execute(store.db);
	const [row] = rows;
	ok(row !== undefined);
	return row;
}
