// A whole service in a folder of its own, with one shop: a real SQLite file, a clock that tests move, and an
// app that answers in process.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AccountsDeps } from "../accounts/deps.ts";
import { issueKey } from "../accounts/keys.ts";
import { openProgramme } from "../accounts/open-programme.ts";
import { createPerson } from "../accounts/people.ts";
import { type AllDeps, createApp } from "../app.ts";
import type { Result } from "../domain/fault.ts";
import type { Log } from "../ports.ts";
import type { NewInboundCall } from "../store/inbound.ts";
import { type Programme, setEndpoint } from "../store/programmes.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import type { ConversionPage, OutcomeBody } from "./answers.ts";
import type { AppDeps } from "./deps.ts";
import type { Problem } from "./problem.ts";
import { type CallOptions, type Credentials, signedRequest } from "./signed-request.test-support.ts";
import { makeTestDeps } from "./test-deps.test-support.ts";

export const START_MS = Date.UTC(2026, 2, 1, 12);

export interface TestShop {
	deps: AllDeps;
	store: Store;
	programme: Programme;
	credentials: Credentials;
	/** Programmes the engines were told of, in order. */
	announced: number[];
	/** What went to the log at the levels warn and error. */
	complaints: object[];
	moveClock(byMs: number): void;
	request: ReturnType<typeof createApp>["request"];
	/** Signs as the shop and sends. */
	call(method: string, target: string, options?: Partial<CallOptions>): Promise<Answered>;
	/** Everything that must not change when a call is refused. */
	stored(): Promise<object>;
	inbound(): Promise<NewInboundCall[]>;
}

export interface Answered {
	status: number;
	headers: Headers;
	json: AnswerJson;
}

/** What the tests look at, of answers and problems alike. */
export type AnswerJson = Partial<OutcomeBody & ConversionPage & Problem>;

export async function openTestShop(
	t: TestContext,
	options: { parksPixels?: boolean; currency?: string; change?: (deps: AppDeps) => Partial<AppDeps> } = {},
): Promise<TestShop> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-api-"));
	const store = openSqlite(join(folder, "test.db"));
	t.after(async () => {
		await store.close();
		rmSync(folder, { recursive: true });
	});
	await store.migrate(START_MS);
	let nowMs = START_MS;
	const complaints: object[] = [];
	const log: Log = {
		info: () => undefined,
		warn: (fields) => complaints.push(fields),
		error: (fields) => complaints.push(fields),
	};
	const base = makeTestDeps({
		store,
		clock: { nowMs: () => nowMs, after: () => () => undefined, yieldLoop: async () => undefined },
		random: { bytes: (count) => randomBytes(count), hex: (count) => randomBytes(count).toString("hex") },
		log,
	});
	const deps = { ...base, ...options.change?.(base) };
	const { programme, credentials } = await makeShop(base, options);
	const announced: number[] = [];
	store.onDue((where) => announced.push(...(where === "anywhere" ? [] : where)));
	const app = createApp(deps);
	return {
		deps,
		store,
		programme,
		credentials,
		announced,
		complaints,
		moveClock: (byMs) => {
			nowMs += byMs;
		},
		request: app.request,
		call: async (method, target, call) =>
			read(await app.request(signedRequest(method, target, credentials, { nowMs, ...call }))),
		stored: () => readStored(store),
		inbound: () => store.db.selectFrom("inbound_calls").selectAll().orderBy("id").execute(),
	};
}

export async function read(response: Response): Promise<Answered> {
	const text = await response.text();
	return { status: response.status, headers: response.headers, json: text === "" ? {} : JSON.parse(text) };
}

/** Another programme in the same store, for what must not be seen from outside. */
export async function makeShop(
	deps: AccountsDeps,
	options: { parksPixels?: boolean; currency?: string } = {},
): Promise<{ programme: Programme; credentials: Credentials }> {
	const ownerEmail = `${randomBytes(4).toString("hex")}@shop.example`;
	value(await createPerson(deps, { email: ownerEmail, role: "owner" }));
	const { programme } = value(
		await openProgramme(deps, null, {
			name: "Shop",
			ownerEmail,
			currency: options.currency ?? "EUR",
			commissionRate: "8",
			feeRate: "2.5",
			approvalDays: 30,
			parksPixels: options.parksPixels ?? true,
		}),
	);
	const { key, secret } = value(await issueKey(deps, programme.public_id));
	await setEndpoint(deps.store.db, programme.id, "https://shop.example/postback", deps.clock.nowMs());
	return { programme, credentials: { key, secret: secret ?? "" } };
}

export function value<Value>(result: Result<Value>): Value {
	if (result.ok) return result.value;
	throw new Error(`${result.fault.code}: ${result.fault.detail}`);
}

async function readStored({ db }: Store): Promise<object> {
	return {
		conversions: await db.selectFrom("conversions").selectAll().orderBy("id").execute(),
		moves: await db.selectFrom("moves").selectAll().orderBy("id").execute(),
		events: await db.selectFrom("events").selectAll().orderBy("id").execute(),
		deliveries: await db.selectFrom("deliveries").selectAll().orderBy("id").execute(),
		queue: await db.selectFrom("queue").selectAll().orderBy("id").execute(),
	};
}
