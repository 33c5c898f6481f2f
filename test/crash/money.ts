// The money of a round: a partner with a coupon code in every programme, and many partners whose statements of the last
// month are being issued while the services run. A kill interrupts the job, and another process continues it.

import { equal, ok } from "node:assert/strict";
import { EVENT_NAMES } from "#core/domain/event-name.ts";
import { HOUR_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { savePartnerUrl } from "#core/programmes/postback-url.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import { ENTRIES } from "#modules/accounts/store/tables.ts";
import { findJob } from "#modules/jobs/store/jobs.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import type { Workplace } from "../../src/service/workplace.ts";
import type { MoneyRows } from "../support/money-auditor.ts";
import { expectValue, type ShopAccount } from "../support/shop-account.ts";

/** Coupon code of the partner who brings sales. */
export const COUPON_CODE = "PARTNER";
/** Number of statements. They are issued in many batches, so that a kill often comes between two of them. */
export const STATEMENTS = 250;
const BONUS = "12.50";
/** Public id of the partner who brings sales and gets callbacks. */
const SELLER = "ptn_seller";

/** Time for which a job waits until `releaseStatements` is called. It is longer than any round. */
const HELD_MS = HOUR_MS;

/**
 * Adds the partners, and starts the job that issues their statements. No service may run yet. Resolves to the signing
 * secret of the partner who brings sales.
 */
export async function openMoney(
	workplace: Workplace,
	accounts: readonly ShopAccount[],
	/** True if the job waits for `releaseStatements`. Otherwise the first service begins to work on it. */
	isHeld: boolean,
	/** Callback URL of the partner who brings sales. */
	partnerUrl: string,
): Promise<string> {
	const { store, clock } = workplace;
	const nowMs = clock.nowMs();
	const lastMonth = Temporal.Instant.fromEpochMilliseconds(nowMs)
		.toZonedDateTimeISO("UTC")
		.toPlainDate()
		.toPlainYearMonth()
		.subtract({ months: 1 });
	const atMs = lastMonth.toPlainDate({ day: 10 }).toZonedDateTime("UTC").epochMilliseconds;
	await store.transact(async (trx) => {
		const seller = await addPartner(trx, SELLER, atMs);
		for (const { programmeRow } of accounts) await joinWithCode(trx, programmeRow, seller, atMs);
		for (let n = 0; n < STATEMENTS; n++) {
			await store.batch.write(trx, {
				ofModules: [
					ENTRIES.add([
						{
							...{ partner_id: await addPartner(trx, `partner-${n}`, atMs), kind: "ADJUSTED", at_ms: atMs },
							...{ programme_id: null, conversion_id: null, person_id: null },
							...{ amount: BONUS, currency: "EUR", reason: "bonus" },
						},
					]),
				],
			});
		}
	});
	const called = { url: partnerUrl, form: "json", events: EVENT_NAMES } as const;
	const saved = expectValue(await savePartnerUrl(workplace, SELLER, called, COMMAND_LINE));
	const { public_id } = expectValue(await prepareStatements(workplace, COMMAND_LINE, lastMonth.toString()));
	await workOffJobs(workplace, () => false);
	const job = await findJob(store.db, null, public_id);
	ok(job !== undefined);
	equal(expectValue(await startJob(workplace, job, COMMAND_LINE, false)), "started");
	if (isHeld) await setClaim(store.db, nowMs + HELD_MS);
	return saved.secret ?? "";
}

/** Lets the next service that starts work on the job of statements. */
export function releaseStatements(db: Db): Promise<void> {
	return setClaim(db, 0);
}

async function setClaim(db: Db, untilMs: number): Promise<void> {
	await db.updateTable("jobs").set({ claim_until_ms: untilMs }).where("state", "=", "applying").execute();
}

async function addPartner(trx: Db, name: string, atMs: number): Promise<number> {
	return (await insertPartner(trx, { public_id: name, name, site: "", created_at_ms: atMs })).id;
}

async function joinWithCode(trx: Db, programmeId: number, partnerId: number, atMs: number): Promise<void> {
	const partnership = await insertPartnership(trx, {
		public_id: `seller-${programmeId}`,
		programme_id: programmeId,
		partner_id: partnerId,
		commission_rate: null,
		terms: "",
		created_at_ms: atMs,
	});
	ok(partnership !== undefined);
	await insertCode(trx, {
		...{ programme_id: programmeId, partnership_id: partnership.id },
		...{ folded: COUPON_CODE, code: COUPON_CODE, created_at_ms: atMs },
	});
}

/**
 * Continues the job of statements, if the services have not finished it, as the next process would. A dead process's
 * claim on the job is taken away instead of waiting until it expires.
 */
export async function finishStatements(workplace: Workplace): Promise<void> {
	const { db } = workplace.store;
	await releaseStatements(db);
	await workOffJobs(workplace, () => false);
	const issued = await db.selectFrom("statements").select("id").execute();
	equal(issued.length, STATEMENTS, "every statement is issued, and none twice");
}

export async function readMoneyRows(trx: Db): Promise<MoneyRows> {
	return {
		conversions: await trx
			.selectFrom("conversions as c")
			.leftJoin("credits as d", "d.conversion_id", "c.id")
			.leftJoin("partnerships as p", "p.id", "d.partnership_id")
			.selectAll("c")
			.select(["d.partnership_id", "p.partner_id"])
			.execute(),
		entries: await trx.selectFrom("entries").selectAll().orderBy("id").execute(),
		open: await trx.selectFrom("open_entries").selectAll().execute(),
		contained: await trx.selectFrom("statement_entries").selectAll().orderBy("entry_id").execute(),
		statements: await trx.selectFrom("statements").selectAll().orderBy("id").execute(),
		lines: await trx.selectFrom("statement_lines").selectAll().orderBy("statement_id").execute(),
		numbers: await trx.selectFrom("statement_numbers").selectAll().execute(),
		payments: await trx.selectFrom("payments").selectAll().execute(),
	};
}
