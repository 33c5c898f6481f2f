// Provides a service with one shop for tests: a real SQLite file, a clock that the test moves, and an app that answers
// in process.

import type { TestContext } from "node:test";
import type { RefundBody } from "#modules/refunds/api/refund-fields.ts";
import { makeAppDeps } from "../../../test/support/app-deps.ts";
import { setUrl } from "../../../test/support/change-rows.ts";
import { makeStillClock } from "../../../test/support/clock.ts";
import { addAccount } from "../../../test/support/shop-account.ts";
import { type CallOptions, type Credentials, signedRequest } from "../../../test/support/signed-request.ts";
import { createMigratedSqlite } from "../../../test/support/sqlite-database.ts";
import { type AllDeps, createApp } from "../../app.ts";
import { createRandom } from "../../outside/random.ts";
import type { problemBody } from "../domain/fault.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Log } from "../ports.ts";
import type { NewInboundCall } from "../store/batch.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";
import type { OutcomeBody } from "./answers.ts";
import type { AppDeps } from "./deps.ts";
import type { ConversionPage } from "./get-conversions.ts";

export const START_MS = Date.UTC(2026, 2, 1, 12);

export interface TestShop {
	deps: AllDeps;
	store: Store;
	programme: Programme;
	credentials: Credentials;
	/** Ids of the programmes that were announced to the engines, in order. */
	announced: number[];
	/** Fields of the log lines at the levels warn and error. */
	complaints: object[];
	moveClock(byMs: number): void;
	request: ReturnType<typeof createApp>["request"];
	/** Sends a request that is signed with the shop's key. */
	call(method: string, target: string, options?: Partial<CallOptions>): Promise<Answered>;
	/** Returns all stored rows that must not change when a call is refused. */
	stored(): Promise<object>;
	inbound(): Promise<NewInboundCall[]>;
}

export interface Answered {
	status: number;
	headers: Headers;
	json: AnswerJson;
}

/** Fields of answers and problem answers that tests read. */
export type AnswerJson = Partial<
	OutcomeBody &
		ConversionPage &
		ReturnType<typeof problemBody> & { kept: number; refunds: readonly RefundBody[] }
>;

export async function openTestShop(
	t: TestContext,
	options: { parksPixels?: boolean; currency?: string; change?: (deps: AppDeps) => Partial<AppDeps> } = {},
): Promise<TestShop> {
	const database = await createMigratedSqlite();
	t.after(database.remove);
	const store = database.open();
	let nowMs = START_MS;
	const complaints: object[] = [];
	const log: Log = {
		info: () => undefined,
		warn: (fields) => complaints.push(fields),
		error: (fields) => complaints.push(fields),
	};
	const base = makeAppDeps({
		store,
		clock: makeStillClock(() => nowMs),
		random: createRandom(),
		log,
	});
	const deps = { ...base, ...options.change?.(base) };
	const { programme, credentials } = await makeShop(base, options);
	const announced: number[] = [];
	store.onDue({
		onOwed({ receiverIds }) {
			announced.push(...receiverIds);
			return [];
		},
		onTargetChange: (receiverId) => announced.push(receiverId),
		onRecheck: () => undefined,
	});
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

/** Adds another programme, for tests that a caller sees no data of other programmes. */
export async function makeShop(
	deps: AccountsDeps,
	options: { parksPixels?: boolean; currency?: string } = {},
): Promise<{ programme: Programme; credentials: Credentials }> {
	const { programme, apiKey: key, secret } = await addAccount(deps, options);
	await setUrl(deps.store.db, programme.id, "https://shop.example/postback", deps.clock.nowMs());
	return { programme, credentials: { key, secret } };
}

async function readStored({ db }: Store): Promise<object> {
	return {
		conversions: await db.selectFrom("conversions").selectAll().orderBy("id").execute(),
		moves: await db.selectFrom("moves").selectAll().orderBy("id").execute(),
		events: await db.selectFrom("events").selectAll().orderBy("id").execute(),
		deliveries: await db.selectFrom("deliveries").selectAll().orderBy("id").execute(),
		queue: await db.selectFrom("queue").selectAll().orderBy("id").execute(),
		refunds: await db.selectFrom("refunds").selectAll().orderBy("id").execute(),
		entries: await db.selectFrom("entries").selectAll().orderBy("id").execute(),
	};
}
