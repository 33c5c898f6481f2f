// Mails about money that people chose under Account: news about sales to the people of partners, and once a week a reminder
// to the people of a programme whose conversions wait for a decision. store/sale-news.ts says how no news is lost or
// mailed twice.

import { commissionOfEvent } from "#core/domain/event.ts";
import type { SaleMails } from "#core/domain/notice.ts";
import { grants, PROGRAMME_ROLES } from "#core/domain/roles.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { lastWeeklyMs } from "#core/domain/zone-day.ts";
import { type Letter, type News, type TellDeps, tell } from "#core/mail/tell.ts";
import { composeWaitingMail } from "#core/mail/waiting-mail.ts";
import { hasReached, startOfFeed } from "#core/store/queries/announced-moves.ts";
import { findPartnersById } from "#core/store/queries/partners.ts";
import { findPersonById } from "#core/store/queries/people.ts";
import { addresseesOf } from "#core/store/queries/programme-people.ts";
import { findProgrammesById } from "#core/store/queries/programmes.ts";
import { claimWeeklyMail, findProgrammeToRemind, sumWaiting } from "#core/store/queries/waiting.ts";
import type { Db } from "#core/store/store.ts";
import {
	dueOf,
	EACH_SALE_INTERVAL_MS,
	NEWS_MAX_AGE_MS,
	newsOfMove,
	type SaleNewsKind,
} from "../domain/sale-news.ts";
import {
	addSaleNews,
	type CreditedSale,
	findCreditedSales,
	findReaderToMail,
	findSaleReaders,
	findTimeZone,
	listMovesForNews,
	listPartnerChanges,
	moveNewsPosition,
	type PartnerChange,
	postponeSaleNews,
	type ReadMove,
	readNewsPosition,
	type SaleNews,
	takeSaleNews,
} from "../store/sale-news.ts";
import { composeSaleMail } from "./sale-mail.ts";

/** Number of moves that are read at a time. */
const BATCH_MOVES = 500;
/** Maximum number of mails that one run writes, because all summaries of a day are due at the same time. */
const MAX_MAILS_A_RUN = 500;
/** Lifetime of these mails. A late mail is still correct, because it names its days. */
const GOOD_FOR_MS = 3 * DAY_MS;

/** Roles whose members are reminded of conversions that wait for a decision. */
const DECIDING_ROLES = PROGRAMME_ROLES.filter((role) => grants(role, "decide"));

/** Collects the news about sales, and writes all mails about money that are due. */
export async function tellSales(deps: TellDeps, isStopping: () => boolean): Promise<void> {
	await collectSaleNews(deps, isStopping);
	await tell(
		deps,
		isStopping,
		async (db, nowMs) => {
			const reader = await findReaderToMail(db, nowMs);
			return reader === undefined ? newsOfWaiting(deps, nowMs) : newsOfSales(reader, nowMs, deps.publicUrl);
		},
		MAX_MAILS_A_RUN,
	);
}

/**
 * Reads the moves since the last run, and stores the news about them for the people of partners. The first
 * run only stores the position of the newest move.
 */
async function collectSaleNews({ store, clock }: TellDeps, isStopping: () => boolean): Promise<void> {
	while (!isStopping()) {
		const from = await readNewsPosition(store.db);
		if (from === null || !(await hasReached(store, from))) {
			await moveNewsPosition(store.db, from, await startOfFeed(store));
			return;
		}
		const moves = await listMovesForNews(store, from, BATCH_MOVES);
		const last = moves.at(-1);
		if (last === undefined) return;
		const news = await newsOfMoves(store.db, moves, clock.nowMs());
		await store.transact(async (trx) => {
			// If another process has read these moves meanwhile, it has stored their news.
			if (await moveNewsPosition(trx, from, { at: last.at, id: last.id })) await addSaleNews(trx, news);
		});
		if (moves.length < BATCH_MOVES) return;
	}
}

async function newsOfMoves(db: Db, moves: readonly ReadMove[], nowMs: number): Promise<SaleNews[]> {
	const young = moves.filter(({ at_ms }) => at_ms >= nowMs - NEWS_MAX_AGE_MS);
	if (young.length === 0) return [];
	const sales = await findCreditedSales(db, [...new Set(young.map(({ conversion_id }) => conversion_id))]);
	if (sales.length === 0) return [];
	const saleOf = new Map(sales.map((sale) => [sale.id, sale]));
	const changes = await listPartnerChanges(db, [...saleOf.keys()]);
	const changesOf = Map.groupBy(changes, ({ conversion_id }) => conversion_id);
	const partnerIds = [
		...sales.map(({ partner_id }) => partner_id),
		...changes.flatMap(({ lost_partner_id, gained_partner_id }) => [lost_partner_id, gained_partner_id]),
	];
	const readers = await findSaleReaders(db, [...new Set(partnerIds.filter((id) => id !== null))]);
	const readersOf = Map.groupBy(readers, ({ partner_id }) => partner_id);
	const zone = await findTimeZone(db);
	return young.flatMap((move) => {
		const sale = saleOf.get(move.conversion_id);
		if (sale === undefined) return [];
		const { public_id, programme_id, currency } = sale;
		return partnersConcernedBy(move, sale, changesOf.get(sale.id) ?? []).flatMap(
			({ partnerId, kind, commission }) =>
				(readersOf.get(partnerId) ?? []).map(({ person_id, partner_id, mails_sales }): SaleNews => {
					const { day, dueAtMs } = dueOf(move.at_ms, mails_sales, zone);
					const named = `${public_id}: ${commission} ${currency}`;
					return {
						...{ person_id, day, partner_id, programme_id, kind, reason: move.reason ?? "", currency },
						...{ sales: 1, commission, named, due_at_ms: dueAtMs },
					};
				}),
		);
	});
}

interface Concerned {
	partnerId: number;
	kind: SaleNewsKind;
	commission: string;
}

/**
 * Returns the partners for whom a move is news: the one who was credited after it, and the one who loses the sale by it.
 * Both are told the commission of that time, whatever happened to the sale since. `changes` are the moves that changed its
 * partner, the newest first.
 */
function partnersConcernedBy(
	move: ReadMove,
	sale: CreditedSale,
	changes: readonly PartnerChange[],
): Concerned[] {
	const kind = newsOfMove(move.move, sale.source);
	const { lost_partner_id: lostBy, lost_commission: lost, announced_body: body } = move;
	// The first change after the move took the sale from the partner who had it then.
	const next = changes.findLast(({ id }) => id > move.id);
	const partnerId = next === undefined ? sale.partner_id : next.lost_partner_id;
	const commission = body === null ? sale.commission : commissionOfEvent(body);
	return [
		...(lostBy === null || lost === null
			? []
			: [{ partnerId: lostBy, kind: "uncredited" as const, commission: lost }]),
		...(kind === null || partnerId === null ? [] : [{ partnerId, kind, commission }]),
	];
}

function newsOfSales(
	{ personId, mails }: { personId: number; mails: SaleMails },
	nowMs: number,
	publicUrl: string,
): News {
	return {
		topic: `sales:${personId}`,
		intervalMs: mails === "each" ? EACH_SALE_INTERVAL_MS : 0,
		goodForMs: GOOD_FOR_MS,
		postpone: (trx, untilMs) => postponeSaleNews(trx, personId, nowMs, untilMs),
		async write(trx) {
			const news = await takeSaleNews(trx, personId, nowMs);
			const person = await findPersonById(trx, personId);
			// The person may have lost their access or chosen otherwise since the news was stored.
			if (person === undefined || person.deactivated_at_ms !== null || person.mails_sales === "none")
				return [];
			const partnerIds = [...new Set(news.map(({ partner_id }) => partner_id))];
			const readers = await findSaleReaders(trx, partnerIds);
			const mayRead = readers
				.filter(({ person_id }) => person_id === personId)
				.map(({ partner_id }) => partner_id);
			const theirs = news.filter(({ partner_id }) => mayRead.includes(partner_id));
			if (theirs.length === 0) return [];
			const programmeIds = [...new Set(theirs.map(({ programme_id }) => programme_id))];
			const view = {
				mails: person.mails_sales,
				news: theirs,
				partners: await findPartnersById(trx, mayRead),
				programmes: await findProgrammesById(trx, programmeIds),
				zone: await findTimeZone(trx),
			};
			return [{ to: person.email, ...composeSaleMail(view, publicUrl) }];
		},
	};
}

/** Returns the weekly mail of a programme, or undefined if none is due. */
async function newsOfWaiting({ store, publicUrl }: TellDeps, nowMs: number): Promise<News | undefined> {
	const zone = await findTimeZone(store.db);
	const dueAtMs = lastWeeklyMs(nowMs, zone);
	const programmeId = await findProgrammeToRemind(store.db, dueAtMs);
	if (programmeId === undefined) return undefined;
	const waiting = await sumWaiting(store.reader, programmeId);
	return {
		topic: `waiting:${programmeId}`,
		intervalMs: 0,
		goodForMs: GOOD_FOR_MS,
		// If last week's mail was never sent, it says the same, so this week's mail is left out.
		postpone: async (trx) => void (await claimWeeklyMail(trx, programmeId, dueAtMs, nowMs)),
		async write(trx): Promise<Letter[]> {
			const programme = (await findProgrammesById(trx, [programmeId])).get(programmeId);
			if (!(await claimWeeklyMail(trx, programmeId, dueAtMs, nowMs))) return [];
			// A programme that was opened after the mail was due is mentioned next week.
			if (programme === undefined || waiting === null || programme.created_at_ms >= dueAtMs) return [];
			const readers = await addresseesOf(trx, programmeId, DECIDING_ROLES, ["decisions_waiting"]);
			const mail = composeWaitingMail(programme, waiting, zone, publicUrl);
			return readers.map(({ email }) => ({ to: email, ...mail }));
		},
	};
}
