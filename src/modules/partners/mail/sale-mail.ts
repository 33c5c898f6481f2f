// Composes the mail to a partner's person about sales, which is a summary of each day, or a mail for each
// sale. It says which sales changed and why, and the sums in each currency. It is plain text, so that every
// mail program can show it.

import { quote } from "#core/domain/mail-text.ts";
import { addAmounts, minorUnits } from "#core/domain/money.ts";
import type { SaleMails } from "#core/domain/notice.ts";
import type { Mail } from "#core/ports.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { SALE_NEWS, type SaleNewsKind } from "../domain/sale-news.ts";
import type { SaleNews } from "../store/sale-news.ts";

export interface SaleMailView {
	mails: Exclude<SaleMails, "none">;
	/** The news of one person, in any order. */
	news: readonly SaleNews[];
	partners: ReadonlyMap<number, Pick<Partner, "name" | "public_id">>;
	programmes: ReadonlyMap<number, Pick<Programme, "name">>;
	/** Time zone of the days. */
	zone: string;
}

export function composeSaleMail(view: SaleMailView, publicUrl: string): Omit<Mail, "to"> {
	const { news, partners, mails } = view;
	const byPartner = Map.groupBy(news, ({ partner_id }) => partner_id);
	const paragraphs = [...byPartner].flatMap(([partnerId, ofPartner]) => {
		const partner = partners.get(partnerId);
		if (partner === undefined) return [];
		const byDay = Map.groupBy(ofPartner, ({ day }) => day);
		const days = [...byDay].toSorted(([one], [other]) => (one < other ? -1 : 1));
		return [
			...days.flatMap(([day, ofDay]) => describeDay(view, partner, day, ofDay)),
			["Your conversions:", `${publicUrl}/partner/${partner.public_id}/conversions`],
		];
	});
	const often =
		mails === "each"
			? "You get a mail when something happens to your sales, at most every ten minutes. Change this under:"
			: "You get one mail for each day on which something happened to your sales. Change this under:";
	return {
		subject: headline(news, mails),
		text: [...paragraphs, [often, `${publicUrl}/account#settings`]]
			.map((lines) => lines.join("\n"))
			.join("\n\n"),
	};
}

function headline(news: readonly SaleNews[], mails: SaleMailView["mails"]): string {
	const [only, ...others] = news;
	if (mails === "each" && only !== undefined && others.length === 0 && only.sales === 1) {
		return `Sale ${DONE[only.kind]}: ${only.commission} ${only.currency}`;
	}
	const counts = SALE_NEWS.flatMap((kind) => {
		const sales = news.reduce((sum, one) => sum + (one.kind === kind ? one.sales : 0), 0);
		return sales === 0 ? [] : [`${sales} ${DONE[kind]}`];
	}).join(", ");
	const days = new Set(news.map(({ day }) => day));
	const when = mails === "each" ? "" : days.size === 1 ? ` on ${only?.day ?? ""}` : ` on ${days.size} days`;
	return `Your sales${when}: ${counts}`;
}

const DONE: Readonly<Record<SaleNewsKind, string>> = {
	recorded: "recorded",
	credited: "credited to you",
	uncredited: "no longer credited to you",
	approved: "approved",
	rejected: "rejected",
	reversed: "reversed",
	refunded: "refunded in part",
};

/** Sentences about what each kind of news means for the partner. */
const MEANING: Readonly<Record<SaleNewsKind, string>> = {
	recorded: "This waits for approval.",
	credited: "The network credited this to you.",
	uncredited:
		"This belongs to another partner or to nobody now. It is not paid, or is deducted if it was approved already.",
	approved: "This is owed to you.",
	rejected: "This is not paid.",
	reversed: "This is not paid, or is deducted if it was paid already.",
	refunded: "This is the commission for what is left of the baskets.",
};

/**
 * Kinds of news for which a summary names each sale, because the partner may want to ask about these sales.
 */
const UNEXPECTED: readonly SaleNewsKind[] = ["uncredited", "rejected", "reversed", "refunded"];

function describeDay(
	{ programmes, zone, mails }: SaleMailView,
	partner: Pick<Partner, "name">,
	day: string,
	news: readonly SaleNews[],
): string[][] {
	const byProgramme = Map.groupBy(news, ({ programme_id }) => programme_id);
	const described = [...byProgramme].map(([programmeId, ofProgramme]) => [
		`${quote(programmes.get(programmeId)?.name ?? "")}:`,
		...inOrder(ofProgramme).flatMap((one) => describeNews(one, mails)),
	]);
	const isEarning = news.some(({ kind }) => kind === "approved");
	return [
		[`Sales of ${quote(partner.name)} on ${day} (${zone})`],
		...described,
		...(byProgramme.size > 1 ? [["All programmes together:", ...sumUp(news)]] : []),
		...(mails === "daily" && !isEarning ? [[NOTHING_EARNED]] : []),
	];
}

const NOTHING_EARNED =
	"Nothing was approved on this day, so nothing was added to your earnings. Shops approve sales, and what they do not decide about is approved when its approval window ends.";

function inOrder(news: readonly SaleNews[]): SaleNews[] {
	return news.toSorted(
		(one, other) =>
			SALE_NEWS.indexOf(one.kind) - SALE_NEWS.indexOf(other.kind) ||
			`${one.currency} ${one.reason}`.localeCompare(`${other.currency} ${other.reason}`),
	);
}

function describeNews(news: SaleNews, mails: SaleMailView["mails"]): string[] {
	const { kind, sales, commission, currency, reason, named } = news;
	const why = reason === "" ? "" : ` Reason: ${reason.toLowerCase().replaceAll("_", " ")}.`;
	const nothing =
		minorUnits(commission) === 0n ? " At the agreed rate these baskets earn nothing." : ` ${MEANING[kind]}`;
	const line = `${capitalise(DONE[kind])}: ${countSales(sales)}, commission ${commission} ${currency}.${why}${nothing}`;
	// A summary only counts the sales that went as expected. The list of conversions shows each of them.
	const isNamed = mails === "each" || UNEXPECTED.includes(kind);
	if (!isNamed) return [line];
	const names = named.split("\n");
	const more = sales - names.length;
	return [line, ...names.map((name) => `- ${name}`), ...(more > 0 ? [`- and ${more} more`] : [])];
}

/** Returns the sums of all programmes, by kind and currency. */
function sumUp(news: readonly SaleNews[]): string[] {
	const sums = Map.groupBy(inOrder(news), ({ kind, currency }) => `${kind} ${currency}`);
	return [...sums.values()].flatMap(([first, ...others]) => {
		if (first === undefined) return [];
		const commission = others.reduce((sum, one) => addAmounts(sum, one.commission), first.commission);
		const sales = others.reduce((sum, one) => sum + one.sales, first.sales);
		return [
			`${capitalise(DONE[first.kind])}: ${countSales(sales)}, commission ${commission} ${first.currency}.`,
		];
	});
}

function countSales(sales: number): string {
	return sales === 1 ? "1 sale" : `${sales} sales`;
}

function capitalise(text: string): string {
	return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
