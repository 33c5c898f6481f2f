// The money of the sample network: payment details, statements of the last two months, and what the next preview shows.

import { DAY_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { findPartner } from "#core/store/queries/partners.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import type { EntryKind } from "#modules/accounts/domain/ledger.ts";
import { monthBefore, monthEndMs, monthIn } from "#modules/accounts/domain/statement.ts";
import { ENTRIES } from "#modules/accounts/store/tables.ts";
import { savePaymentDetails } from "#modules/accounts/use-cases/payment-details.ts";
import { payStatements } from "#modules/accounts/use-cases/payments.ts";
import { savePayoutSettings } from "#modules/accounts/use-cases/payout-settings.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { finishJob } from "#modules/jobs/use-cases/work.ts";
import type { Service } from "../../src/service.ts";
import { expectValue } from "../support/shop-account.ts";

const ZONE = "UTC";
const ADDRESS = "Acme Partners GmbH\nHafenstraße 12\n20457 Hamburg\nGermany";

interface SampleEntry {
	kind: Exclude<EntryKind, "PAID">;
	amount: string;
	atMs: number;
	conversion?: { id: number; programme_id: number };
	reason?: string;
}

/**
 * Issues statements to the partner whose pages are shown, one of them paid, and one that is carried forward to another.
 * A third partner has no payment details. Its statement is not paid, and it has entries that no statement contains, for
 * the preview.
 */
export async function addStatements(
	service: Service,
	partners: { shown: string; small: string; open: string },
): Promise<void> {
	const { store, clock } = service;
	const deps = { ...service, publicUrl: service.url };
	const shown = await findByPublicId(service, partners.shown);
	const nowMs = clock.nowMs();
	const last = monthBefore(monthIn(nowMs, ZONE));
	const earlier = monthBefore(last);
	const [lastMs, earlierMs] = [last, earlier].map((month) => monthEndMs(month, ZONE) - 10 * DAY_MS);
	if (lastMs === undefined || earlierMs === undefined) throw new Error("two months have two times");
	const settings = { postalAddress: ADDRESS, minimums: new Map([["EUR", "25"]]) };
	expectValue(await savePayoutSettings(deps, COMMAND_LINE, settings));
	await store.db
		.updateTable("partners")
		.set({ vat_percent: "19", vat_note: "Reverse charge: the recipient owes the VAT." })
		.where("id", "=", shown.id)
		.execute();
	expectValue(
		await savePaymentDetails(deps, COMMAND_LINE, shown.id, {
			...{ payee: "Pia Berg", address: "Talweg 3\n87541 Bad Hindelang", country: "DE", vatId: "DE123456789" },
			...{ iban: "DE89370400440532013000", bic: "COBADEFFXXX", account: "" },
		}),
	);
	const sold = await listSold(service, shown.id);
	const earned = (atMs: number, from: number, to: number) =>
		sold.slice(from, to).map((conversion): SampleEntry => {
			return { kind: "EARNED", amount: conversion.commission, atMs, conversion };
		});
	const [first] = sold;
	if (first === undefined) throw new Error("the sample partner has no approved sale");
	await write(service, shown, [
		...earned(earlierMs, 0, 3),
		{ kind: "ADJUSTED", amount: "250.00", atMs: earlierMs, reason: "Bonus for the season's first campaign" },
		...earned(lastMs, 3, 5),
		{ kind: "CHANGED", amount: "-0.05", atMs: lastMs, conversion: first, reason: "RETURN" },
		{ kind: "ADJUSTED", amount: "100.00", atMs: lastMs, reason: "Newsletter, as agreed" },
		{ kind: "ADJUSTED", amount: "12.50", atMs: nowMs, reason: "Travel costs" },
	]);
	const small = await findByPublicId(service, partners.small);
	await write(service, small, [{ kind: "ADJUSTED", amount: "3.20", atMs: lastMs, reason: "Late sale" }]);
	const open = await findByPublicId(service, partners.open);
	await write(service, open, [{ kind: "ADJUSTED", amount: "36.00", atMs: earlierMs, reason: "First sales" }]);
	await issue(service, earlier);
	const { public_id: paid } = await store.db
		.selectFrom("statements")
		.select("public_id")
		.where("month", "=", earlier)
		.where("partner_id", "=", shown.id)
		.executeTakeFirstOrThrow();
	const payment = { date: new Date(nowMs).toISOString().slice(0, 10), reference: `SEPA ${"7".repeat(60)}` };
	expectValue(await payStatements(deps, COMMAND_LINE, [paid], payment));
	await issue(service, last);
	await write(service, open, [{ kind: "ADJUSTED", amount: "48.00", atMs: lastMs, reason: "Found later" }]);
}

async function findByPublicId({ store }: Service, publicId: string): Promise<Partner> {
	const partner = await findPartner(store.db, publicId);
	if (partner === undefined) throw new Error(`no partner ${publicId}`);
	return partner;
}

function listSold({ store }: Service, partnerId: number) {
	return store.db
		.selectFrom("credits")
		.innerJoin("conversions", "conversions.id", "credits.conversion_id")
		.innerJoin("partnerships", "partnerships.id", "credits.partnership_id")
		.select(["conversions.id", "conversions.programme_id", "conversions.commission"])
		.where("partnerships.partner_id", "=", partnerId)
		.where("conversions.status", "=", "APPROVED")
		.where("conversions.commission", "!=", "0.00")
		.orderBy("conversions.id")
		.limit(5)
		.execute();
}

async function write({ store }: Service, { id }: Partner, entries: readonly SampleEntry[]): Promise<void> {
	await store.transact((trx) =>
		store.batch.write(trx, {
			ofModules: [
				ENTRIES.add(
					entries.map(({ kind, amount, atMs, conversion, reason = null }) => ({
						partner_id: id,
						programme_id: conversion?.programme_id ?? null,
						conversion_id: conversion?.id ?? null,
						...{ kind, amount, currency: "EUR", person_id: null, reason, at_ms: atMs },
					})),
				),
			],
		}),
	);
}

async function issue(service: Service, month: string): Promise<void> {
	const deps = { ...service, publicUrl: service.url };
	const job = expectValue(await prepareStatements(deps, COMMAND_LINE, month));
	const previewed = await finishJob(deps, job, () => undefined);
	if (previewed === undefined) throw new Error("the preview was discarded");
	expectValue(await startJob(deps, previewed, COMMAND_LINE, false));
	await finishJob(deps, { ...previewed, state: "applying" }, () => undefined);
}
