// Fills the accounts of partners and issues their statements, for tests of the pages.

import assert from "node:assert/strict";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { TestSite } from "#core/web/test-site.test-support.ts";
import { findJob } from "#modules/jobs/store/jobs.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import type { NamedPartnership } from "#modules/partners/store/partnerships.ts";
import { addCredited } from "#modules/partners/web/partner-shop.test-support.ts";
import { type ListedStatement, readStatements } from "../store/statements.ts";
import { ENTRIES } from "../store/tables.ts";

/** A moment in February, which is over when the tests begin. */
export const FEBRUARY_MS = Date.UTC(2026, 1, 10, 12);

export const workOff = ({ deps }: Pick<TestSite, "deps">) => workOffJobs(deps, () => false);

/** Adds an approved sale of the partner, with its entry. */
export async function earn(
	site: TestSite,
	partnership: NamedPartnership,
	commission: string,
	{
		currency = "EUR",
		atMs = FEBRUARY_MS,
		sale = {},
	}: { currency?: string; atMs?: number; sale?: Partial<Conversion> } = {},
): Promise<Conversion> {
	const times = { occurred_at_ms: atMs, created_at_ms: atMs, decided_at_ms: atMs };
	const approved = { status: "APPROVED", commission, currency, ...times } as const;
	const conversion = await addCredited({ site }, partnership, { ...approved, ...sale });
	await addEntry(site, partnership, { kind: "EARNED", amount: commission, currency, atMs, conversion });
	return conversion;
}

/** Adds an entry about a conversion to the partner's account. */
export async function addEntry(
	{ store }: TestSite,
	{ partner_id, programme_id }: NamedPartnership,
	entry: {
		kind: "EARNED" | "CHANGED";
		amount: string;
		currency: string;
		atMs: number;
		conversion: Conversion;
		reason?: string;
	},
): Promise<void> {
	const { kind, amount, currency, atMs, conversion, reason = null } = entry;
	const row = { partner_id, programme_id, conversion_id: conversion.id, kind, amount, currency };
	await store.transact((trx) =>
		store.batch.write(trx, { ofModules: [ENTRIES.add([{ ...row, person_id: null, reason, at_ms: atMs }])] }),
	);
}

/** Issues all statements that are due for a month, and returns the month's statements. */
export async function issueMonth(site: TestSite, month = "2026-02"): Promise<ListedStatement[]> {
	const prepared = await prepareStatements(site.deps, COMMAND_LINE, month);
	assert.ok(prepared.ok, prepared.ok ? "" : prepared.fault.detail);
	await workOff(site);
	const job = await findJob(site.store.db, null, prepared.value.public_id);
	assert.ok(job);
	assert.ok((await startJob(site.deps, job, COMMAND_LINE, false)).ok);
	await workOff(site);
	return (await Array.fromAsync(readStatements(site.store.db, { month }, 100))).flat();
}
