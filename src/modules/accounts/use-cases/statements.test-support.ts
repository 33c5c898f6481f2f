// A network with programmes, partners and credited sales, whose months pass as a test moves its clock.

import { ok } from "node:assert/strict";
import { createKeyRing } from "#core/domain/key-ring.ts";
import type { SignedInPerson } from "#core/people/actor.ts";
import { type Conversion, findManyByPublicId } from "#core/store/queries/conversions.ts";
import { addPartnerPerson } from "#core/store/queries/partner-people.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { insertProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { Db, Store } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { findJob, type ListedJob } from "#modules/jobs/store/jobs.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { type JudgedRow, readJudgedLines } from "#modules/jobs/use-cases/lines.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { type JobWorkDeps, workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { type Credit, NOBODY } from "#modules/partners/domain/credit.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import type { Partnership } from "#modules/partners/store/tables.ts";
import { MAIL_OFF } from "../../../../test/support/app-deps.ts";
import { createClock, type MovableClock } from "../../../../test/support/clock.ts";
import { type GivenStep, makeSteps } from "../../../../test/support/make-steps.ts";
import { newConversion, newId, newProgramme } from "../../../../test/support/rows.ts";
import { addPerson, signInAs } from "../../../../test/support/signed-in.ts";
import { CHANGES } from "../../../modules.ts";
import { createRandom } from "../../../outside/random.ts";
import { checkLedger } from "../../../service/check-ledger.ts";
import { type ListedStatement, listStatements, type StatementFilter } from "../store/statements.ts";

export const OCTOBER_MS = Date.UTC(2026, 9, 10);
export const NOVEMBER_MS = Date.UTC(2026, 10, 2);
export const DECEMBER_MS = Date.UTC(2026, 11, 2);

export interface Member {
	partner: Partner;
	partnership: Partnership;
	programme: Programme;
}

export type TestNetwork = Awaited<ReturnType<typeof openNetwork>>;

export async function openNetwork(store: Store, startMs: number = OCTOBER_MS) {
	const clock: MovableClock = createClock(startMs);
	const deps: JobWorkDeps & { clock: MovableClock } = {
		store,
		clock,
		random: createRandom(),
		changes: CHANGES,
		keyRing: createKeyRing([new Uint8Array(32).fill(7)]),
		mails: MAIL_OFF,
		publicUrl: "https://network.example",
	};
	const staff = await signInAs(store, await addPerson(store, "staff"));
	await setNetwork(store.db, { time_zone: "UTC", minimum_payouts: "", postal_address: null });

	async function move(step: GivenStep): Promise<Conversion> {
		const { results } = await store.transact((trx) => makeSteps(trx, deps, [step]));
		const [result] = results;
		ok(result?.ok === true);
		const [stored] = await findManyByPublicId(store.db, [result.value.public_id]);
		ok(stored !== undefined);
		return stored;
	}

	return {
		deps,
		clock,
		staff,
		async addProgramme(currency = "EUR"): Promise<Programme> {
			const change = { currency, credits_partners: 1 as const, name: `Shop ${currency}` };
			return store.transact((trx) => insertProgramme(trx, newProgramme(change)));
		},
		addPartner: (name: string) =>
			insertPartner(store.db, { public_id: newId("ptn"), name, site: "", created_at_ms: startMs }),
		/** Adds a person who signs in for the partner. */
		async addPartnerPerson({ id }: Partner): Promise<SignedInPerson & { email: string }> {
			const person = await addPerson(store, "shop");
			await addPartnerPerson(store.db, id, person.id);
			return { ...(await signInAs(store, person)), email: person.email };
		},
		async join(programme: Programme, partner: Partner): Promise<Member> {
			const partnership = await insertPartnership(store.db, {
				public_id: newId("pts"),
				programme_id: programme.id,
				partner_id: partner.id,
				commission_rate: null,
				terms: "",
				created_at_ms: startMs,
			});
			ok(partnership !== undefined);
			return { partner, partnership, programme };
		},
		/** Records a sale that is credited to the member. */
		sell: ({ partnership, programme }: Member, commission: string) => {
			const { status: _, created_at_ms: __, updated_at_ms: ___, ...sale } = newConversion(programme.id);
			return move({
				move: "record",
				known: null,
				sale: { ...sale, commission, basket_value: commission, currency: programme.currency },
				credit: { ...creditOf(partnership), subIds: ["newsletter", "", "top"] },
			});
		},
		approve: (known: Conversion) =>
			move({ move: "approve", known, change: { decided_by: "shop" }, decidedBy: "shop" }),
		reverse: (known: Conversion) =>
			move({ move: "reverse", known, change: { decided_by: "shop", reason: "RETURN" }, reason: "RETURN" }),
		/** Refunds a part of the sale. `commission` is the commission that is left after the refund. */
		refund: (known: Conversion, commission: string) =>
			move({
				move: "refund",
				known,
				change: { commission, basket_value: commission, refunded_value: "1" },
				reason: "RETURN",
				refund: { refund_id: newId("job"), amount: "1", basket_value: commission, reason: "RETURN" },
			}),
		/** Changes the partner of a sale. The commission stays. */
		reassign: (known: Conversion, { partnership }: Member) =>
			move({ move: "credit", known, change: {}, credit: creditOf(partnership) }),
		setNetwork: (change: Parameters<typeof setNetwork>[1]) => setNetwork(store.db, change),
		prepare: async (month: string): Promise<ListedJob> => {
			const job = await prepareStatements(deps, staff, month);
			ok(job.ok, JSON.stringify(job));
			await workOffJobs(deps, () => false);
			return reload(store.db, job.value);
		},
		issue: async (job: ListedJob): Promise<ListedJob> => {
			const started = await startJob(deps, await reload(store.db, job), staff, false);
			ok(started.ok, JSON.stringify(started));
			await workOffJobs(deps, () => false);
			return reload(store.db, job);
		},
		/** Returns the lines of a job as short texts. */
		linesOf: async (job: ListedJob): Promise<string[]> =>
			(await readJudgedLines(store.db, job, 1, 100)).map(sayLine),
		statements: async (filter: StatementFilter = {}): Promise<ListedStatement[]> =>
			(await listStatements(store.db, filter, { limit: 1_000 })).rows.toReversed(),
		brokenRules: async () => (await checkLedger(store)).broken,
	};
}

export async function reload(db: Db, { public_id }: Pick<ListedJob, "public_id">): Promise<ListedJob> {
	const job = await findJob(db, null, public_id);
	ok(job !== undefined);
	return job;
}

async function setNetwork(
	db: Db,
	change: Partial<Record<"time_zone" | "minimum_payouts" | "postal_address" | "name", string | null>>,
): Promise<void> {
	const { time_zone, minimum_payouts, ...others } = change;
	await db
		.updateTable("network")
		.set({
			...others,
			...(typeof time_zone === "string" ? { time_zone } : {}),
			...(typeof minimum_payouts === "string" ? { minimum_payouts } : {}),
		})
		.execute();
}

function creditOf({ id }: Partnership): Credit {
	return { ...NOBODY, partnershipId: id, word: "CLICK" };
}

function sayLine({ cells, verdict }: JudgedRow): string {
	const parts = ["partner", "currency", "opening", "earned", "changed", "adjusted", "total", "outcome"];
	const detail = verdict.detail === null ? "" : ` (${verdict.detail})`;
	return `${parts.map((name) => cells[name]).join(" ")}: ${verdict.kind}${detail}`;
}

/** Returns a statement as a short text. */
export function sayStatement(statement: ListedStatement): string {
	const { number, partner_name, month, opening, earned, changed, adjusted, total, currency } = statement;
	const state = statement.is_carried === 1 ? "carried" : statement.paid_on === null ? "to pay" : "paid";
	return `${number} ${partner_name} ${month}: ${opening} + ${earned} + ${changed} + ${adjusted} = ${total} ${currency}, ${state}`;
}
