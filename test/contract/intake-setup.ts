// Sets up a shop whose calls are stored in one batch, because both workers of the intake are busy while the calls
// arrive.

import { type Answered, makeShop, read } from "#core/api/test-shop.test-support.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { ConflictError } from "#core/store/conflict.ts";
import { LOCK_WAITS_MS, type Store, UncertainWrite } from "#core/store/store.ts";
import { type AllDeps, createApp } from "../../src/app.ts";
import { createRandom } from "../../src/outside/random.ts";
import { makeAppDeps } from "../support/app-deps.ts";
import { createClock } from "../support/clock.ts";
import type { SuiteDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";

/** Number of event loop turns after which a call in this process is waiting to be stored. */
const YIELDS = 10;
const [FIRST_WAIT_MS] = LOCK_WAITS_MS;
const nothing = async (): Promise<void> => undefined;

export function createIntakeSetup(database: SuiteDatabase) {
	const clock = createClock();

	/**
	 * Wraps the store to count the attempts to store calls, and their conflicts. A test can run its own work before an attempt
	 * or after it. On PostgreSQL an attempt begins with a look outside a transaction, and on SQLite with its transaction.
	 */
	function watch(store: Store) {
		const watched = { transactions: 0, conflicts: 0, before: nothing, after: nothing };
		const looksFirst = store.writeAlone !== null;
		const look: Store["batch"]["look"] = async (db, asked) => {
			if (looksFirst && db === store.db) {
				watched.transactions++;
				await watched.before();
			}
			return store.batch.look(db, asked);
		};
		const transact: Store["transact"] = async (work, options) => {
			if (!looksFirst || options?.maxLockWaitMs === undefined) watched.transactions++;
			// Retries have a shorter lock wait than first tries, and only first tries are held here.
			if (!looksFirst && options?.maxLockWaitMs === FIRST_WAIT_MS) await watched.before();
			const done = await countConflicts(() => store.transact(work, options));
			await watched.after();
			return done;
		};
		const { writeAlone: write } = store;
		const writeAlone: Store["writeAlone"] =
			write &&
			(async (rows, maxLockWaitMs) => {
				const written = await countConflicts(() => write(rows, maxLockWaitMs));
				await watched.after().catch((error: unknown) => {
					throw new UncertainWrite(error);
				});
				return written;
			});
		async function countConflicts<Value>(work: () => Promise<Value>): Promise<Value> {
			try {
				return await work();
			} catch (error) {
				if (error instanceof ConflictError) watched.conflicts++;
				throw error;
			}
		}
		return { watched, store: { ...store, transact, writeAlone, batch: { ...store.batch, look } } };
	}

	async function openShop(options: { parksPixels?: boolean; over?: Store; stopSignal?: AbortSignal } = {}) {
		const { watched, store } = watch(options.over ?? database.store);
		let busyOrders = 0;
		const parts = makeAppDeps({ store, clock, random: createRandom(), log: createLog() });
		const deps: AllDeps = { ...parts, stopSignal: options.stopSignal };
		const { programme, credentials } = await makeShop(deps, options);
		const other = await makeShop(deps);
		const app = createApp(deps);
		const send = (request: Request) => sendTo(app, request);
		// The first calls store that the programmes and keys were used. Cached rows show this only after a second.
		await identify();
		await clock.moveBy(SECOND_MS);
		await identify();
		await send(pixel(programme.public_id, ""));
		await database.store.db.deleteFrom("inbound_calls").execute();
		watched.transactions = 0;

		/** Loads the identities of the callers into the cache, so that no later call waits for them. */
		async function identify(): Promise<void> {
			for (const known of [credentials, other.credentials]) {
				await send(signedRequest("GET", "/v1/conversions", known, { nowMs: clock.nowMs() }));
			}
		}

		/**
		 * Sends the requests one after the other while both workers are busy, so that they become one batch in
		 * this order.
		 */
		async function sendTogether(requests: readonly Request[]): Promise<Answered[]> {
			const lines = await makeBusy();
			const sent = await oneByOne(requests);
			await lines.setFree();
			return Promise.all(sent.map((answer) => answer()));
		}

		/**
		 * Keeps both workers busy, so that new calls wait until `setFree` is called. Work that is passed to
		 * `setFree` runs at the start of each following transaction.
		 */
		async function makeBusy() {
			const gate = Promise.withResolvers<void>();
			watched.before = () => gate.promise;
			watched.transactions = 0;
			const orders = [1, 2].map(() => `busy-${++busyOrders}`);
			const busy = await oneByOne(orders.map((orderId) => sale(other.credentials, orderId)));
			await until(() => watched.transactions === 2);
			return {
				async setFree(before = nothing): Promise<Answered[]> {
					watched.before = before;
					watched.transactions = 0;
					gate.resolve();
					return Promise.all(busy.map((answer) => answer()));
				},
			};
		}

		async function oneByOne(requests: readonly Request[]): Promise<(() => Promise<Answered>)[]> {
			const sent: (() => Promise<Answered>)[] = [];
			for (const request of requests) {
				const answer = send(request);
				sent.push(() => answer);
				for (let yields = 0; yields < YIELDS; yields++) await clock.yieldLoop();
			}
			return sent;
		}

		return { programme, credentials, other, watched, send, identify, sendTogether, makeBusy, oneByOne };
	}

	async function sendTo(app: ReturnType<typeof createApp>, request: Request): Promise<Answered> {
		const response = await app.request(request);
		if (response.headers.get("content-type") !== "image/gif") return read(response);
		return { status: response.status, headers: response.headers, json: {} };
	}

	function post(credentials: Credentials, target: string, body: object, nonce?: string): Request {
		const named = nonce === undefined ? {} : { nonce };
		return signedRequest("POST", target, credentials, { body, nowMs: clock.nowMs(), ...named });
	}

	const sale = (credentials: Credentials, orderId: string, basketValue = "100.00") =>
		post(credentials, "/v1/conversions", { orderId, basketValue });
	const approval = (credentials: Credentials, orderId: string) =>
		post(credentials, "/v1/approvals", { orderId });
	const bulk = (credentials: Credentials, name: string, items: number) =>
		post(credentials, "/v1/conversions/batch", {
			items: Array.from({ length: items }, (_, n) => ({ orderId: `${name}-${n}`, basketValue: "1.00" })),
		});
	const pixel = (programId: string, orderId: string) =>
		new Request(`http://localhost/pixel/${programId}.gif?orderId=${orderId}&basketValue=90.00`);

	async function logged(programmeId: number) {
		const rows = database.store.db.selectFrom("inbound_calls").selectAll();
		return rows.where("programme_id", "=", programmeId).orderBy("id").execute();
	}

	async function eventsOf(programmeId: number) {
		const events = database.store.db
			.selectFrom("events")
			.innerJoin("conversions", "conversions.id", "events.conversion_id")
			.select(["conversions.order_id", "events.name"]);
		return events.where("conversions.programme_id", "=", programmeId).orderBy("events.id").execute();
	}

	return { clock, openShop, sendTo, post, sale, approval, bulk, pixel, logged, eventsOf };
}

/** Returns the outcome of a call, or its error code if the call was refused. */
export function word({ json }: Answered): string | undefined {
	return json.outcome ?? json.code;
}
