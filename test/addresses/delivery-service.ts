// The real service over a real SQLite file, for URLs by the hundred: programmes are put straight into the
// database, as if they had been saved before the policy or the name server changed its mind.

import { randomBytes } from "node:crypto";
import type { Selectable } from "kysely";
import type { Result } from "../../src/domain/fault.ts";
import { SEALING_IV_BYTES, sealSecret } from "../../src/domain/sealing.ts";
import { DAY_MS } from "../../src/domain/time.ts";
import type { Workplace } from "../../src/service/workplace.ts";
import type { OwedEvent } from "../../src/store/hot-writes.ts";
import { insertProgramme, type Programme, setEndpoint } from "../../src/store/queries/programmes.ts";
import { insertSecret } from "../../src/store/queries/signing-secrets.ts";
import type { Db } from "../../src/store/store.ts";
import type { AttemptsTable, DeliveriesTable } from "../../src/store/tables/deliveries.ts";
import { type OpenedService, prepareService } from "../support/open-service.ts";
import { newConversion, newOwedEvent, newProgramme, newSecret } from "../support/rows.ts";

export interface DeliverySettings {
	dnsServer: string;
	/** CIDR ranges with commas between them, as in the environment; empty in production. */
	allowedRanges: string;
	trustedCa?: string;
}

export interface DeliveryResult {
	programmeId: number;
	delivery: Pick<Selectable<DeliveriesTable>, "id" | "state" | "attempts" | "last_verdict">;
	/** The first of them, undefined when nothing was attempted. */
	attempt: Pick<Selectable<AttemptsTable>, "result" | "detail" | "http_status"> | undefined;
}

/** What the resolver says when nobody answers it in time. */
export const LOOK_UP_TIMEOUT = "ETIMEOUT";
/** Two queries each, and a socket has room for a few hundred packets: one that is lost costs a second. */
const MAX_LOOK_UPS_AT_ONCE = 64;
/** A defect fails each time, a stalled machine hardly three times in a row. */
export const MAX_TRIES = 3;
const GIVE_UP_AFTER_MS = 60_000;
const PAUSE_MS = 20;

export function prepareDelivery({
	dnsServer,
	allowedRanges,
	trustedCa,
}: DeliverySettings): Promise<OpenedService> {
	return prepareService({
		...(trustedCa === undefined ? {} : { trustedCa }),
		settings: {
			RINGBACK_DNS_SERVERS: dnsServer,
			RINGBACK_ALLOWED_PRIVATE_RANGES: allowedRanges,
			RINGBACK_MAX_IN_FLIGHT: String(MAX_LOOK_UPS_AT_ONCE),
			RINGBACK_ROLE: "worker",
		},
	});
}

/** Each with a signing secret and without a URL. */
export function addProgrammes(workplace: Workplace, count: number): Promise<Programme[]> {
	const nowMs = workplace.clock.nowMs();
	return workplace.store.transact(async (trx) => {
		const programmes: Programme[] = [];
		for (let index = 0; index < count; index++) {
			const row = newProgramme({ name: `Shop ${index}`, created_at_ms: nowMs });
			const programme = await insertProgramme(trx, row);
			const sealed = sealSecret(
				workplace.sealingKey,
				programme.id,
				`rbs_${randomBytes(32).toString("hex")}`,
				randomBytes(SEALING_IV_BYTES),
			);
			await insertSecret(trx, newSecret(programme.id, { sealed, activated_at_ms: nowMs }));
			programmes.push(programme);
		}
		return programmes;
	});
}

/** Past every check: the row is simply there. */
export function forceUrls(
	{ store, clock }: Workplace,
	urls: readonly (readonly [programme: Programme, url: string])[],
): Promise<void> {
	return store.transact(async (trx) => {
		for (const [programme, url] of urls) await setEndpoint(trx, programme.id, url, clock.nowMs());
	});
}

/** One event for each of them, due now. Resolves to the deliveries' ids, in the same order. */
export async function oweEvents(
	{ store, clock }: Workplace,
	programmes: readonly Programme[],
): Promise<number[]> {
	const nowMs = clock.nowMs();
	const owed = await store.transact(async (trx) => {
		const events: OwedEvent[] = [];
		for (const programme of programmes) {
			// No window: the chore that approves what is old must not add events of its own.
			const [conversion] = await store.writes.insertConversions(trx, [
				newConversion(programme.id, { created_at_ms: nowMs, updated_at_ms: nowMs, window_ends_at_ms: null }),
			]);
			if (conversion === undefined) throw new Error("the programme already has this order");
			events.push(newOwedEvent(programme, conversion.id));
		}
		await store.writes.insertOwedEvents(trx, events, nowMs);
		return events;
	});
	store.announceDue({ programmeIds: programmes.map(({ id }) => id), dueAtMs: nowMs });
	const publicIds = owed.map(({ deliveryPublicId }) => deliveryPublicId);
	const rows = await store.db
		.selectFrom("deliveries")
		.select(["id", "public_id"])
		.where("public_id", "in", publicIds)
		.execute();
	const ids = new Map(rows.map((row) => [row.public_id, row.id]));
	return publicIds.flatMap((publicId) => ids.get(publicId) ?? []);
}

/** Until an engine has had each of them in its hands and let go of it. */
export async function awaitDeliveries(
	db: Db,
	ids: readonly number[],
	dueAtMs: number,
	onProgress: (left: number) => void = () => undefined,
): Promise<DeliveryResult[]> {
	const wanted = new Set(ids);
	const giveUpAtMs = Date.now() + GIVE_UP_AFTER_MS;
	for (;;) {
		const untouched = await db.selectFrom("queue").select("id").where("due_at_ms", "<=", dueAtMs).execute();
		const left = untouched.filter(({ id }) => wanted.has(id)).length;
		if (left === 0) return readResults(db, ids);
		if (Date.now() > giveUpAtMs) throw new Error(`${left} deliveries are still untouched after a minute`);
		onProgress(left);
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	}
}

async function readResults(db: Db, ids: readonly number[]): Promise<DeliveryResult[]> {
	const deliveries = await db.selectFrom("deliveries").selectAll().where("id", "in", ids).execute();
	const attempts = await db
		.selectFrom("attempts")
		.selectAll()
		.where("delivery_id", "in", ids)
		.where("seq", "=", 1)
		.execute();
	const firstOf = new Map(attempts.map((attempt) => [attempt.delivery_id, attempt]));
	return deliveries.map((delivery) => ({
		programmeId: delivery.programme_id,
		delivery,
		attempt: firstOf.get(delivery.id),
	}));
}

/** This machine was too slow for its own name server: says nothing of the address. */
export function isTimedOut(result: DeliveryResult): boolean {
	return result.attempt?.result === "timeout" || isUnheard(result);
}

/** The look-up itself timed out, so that nothing can have been sent. */
export function isUnheard({ attempt }: DeliveryResult): boolean {
	return attempt?.detail === `${LOOK_UP_TIMEOUT} (look-up)`;
}

/** Of a URL that somebody wanted to save. The answer does not say why: it may be this machine that was too slow. */
export function isUnresolved(saved: Result<unknown>): boolean {
	return !saved.ok && saved.fault.code === "postback_url_unresolvable";
}

/** Puts off whatever waits for its retry: a minute later it would come in the middle of something else. */
export async function postponeRetries({ store, clock }: Workplace): Promise<void> {
	const nowMs = clock.nowMs();
	await store.db
		.updateTable("queue")
		.set({ due_at_ms: nowMs + DAY_MS })
		.where("due_at_ms", ">", nowMs)
		.execute();
}

/**
 * A look-up that timed out on a machine that stands still now and then says nothing of the address: it is asked again, a few
 * times. Whatever else comes out is final.
 */
export async function askAgain<Answer>(
	ask: () => Promise<Answer>,
	isTimedOut: (answer: Answer) => boolean,
): Promise<Answer> {
	for (let left = MAX_TRIES - 1; ; left--) {
		const answer = await ask();
		if (left <= 0 || !isTimedOut(answer)) return answer;
	}
}
