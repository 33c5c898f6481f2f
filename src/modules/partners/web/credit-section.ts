// The section of a conversion's page that names the partner who is credited for the sale, and says why. Staff
// may change the partner while the conversion is recorded or approved.

import { awaitsConfirmation, isByPixelAlone } from "#core/domain/conversion.ts";
import { type Conversion, knownOrderOf, orderIdOf } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import { type PageDeps, programmeOf, standingOf, type WebContext } from "#core/web/page.ts";
import { AUDIT_PATH, earningsPath, inboundPath, withQuery } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import type { CreditWord, NOT_CREDITING } from "../domain/credit.ts";
import { findNamedCredits, type NamedCredit } from "../store/credits.ts";
import { findPartnerLink } from "../store/partner-links.ts";
import { listPartnerships } from "../store/partnerships.ts";
import type { PartnerLink } from "../store/tables.ts";
import { whyPartnerIsFixed } from "../use-cases/assign.ts";
import { assignForm } from "./assign-page.ts";

/** Returns the section, or null if the programme credits no partners and the conversion has no credit. */
export async function creditSection(
	c: WebContext,
	{ store: { db } }: PageDeps,
	conversion: Conversion,
): Promise<Content> {
	const programme = programmeOf(c);
	const credit = (await findNamedCredits(db, [conversion.id])).get(conversion.id);
	if (credit === undefined && programme.credits_partners === 0) return null;
	const isStaff = standingOf(c) === "staff";
	const link = credit?.link_id == null ? undefined : await findClickedLink(db, credit.link_id);
	const subIds = credit === undefined ? [] : [credit.sub_1, credit.sub_2, credit.sub_3];
	const facts: readonly (readonly [string, Content])[] = [
		["Partner", nameOf(credit, isStaff)],
		[
			"Why",
			credit === undefined ? whyNotYet(conversion) : explain(conversion, credit, programme, link, isStaff),
		],
		...reportedCodes(conversion, credit, programme),
		...subIds.flatMap((subId, index) =>
			subId === "" ? [] : [[`Sub ID s${index + 1}`, html`<code class="break">${subId}</code>`] as const],
		),
	];
	const fixed = whyPartnerIsFixed(conversion, programme);
	return ui.section({
		id: "credit",
		title: "Partner",
		hint: "Who brought this sale.",
		body: ui.padded(
			ui.facts(facts),
			isStaff && fixed === null ? assignForm(c, conversion, credit?.partnership?.partner_name) : null,
			isStaff && fixed !== null ? html`<p class="small soft">${fixed.sentence}</p>` : null,
		),
	});
}

/** Links to the reports of a sale whose coupon codes decided its credit. The inbound log names the codes of each report. */
function reportedCodes(
	conversion: Conversion,
	credit: NamedCredit | undefined,
	{ public_id: programmeId }: Programme,
): readonly (readonly [string, Content])[] {
	const isByCode = credit?.word === "CODE" || credit?.word === "UNKNOWN_CODE";
	if (!isByCode || conversion.source === "import") return [];
	const href = withQuery(inboundPath(programmeId), { order: orderIdOf(conversion) });
	return [["Coupon codes", html`<a href="${href}">As the shop reported them, in the inbound log</a>`]];
}

function explain(
	{ source }: Conversion,
	credit: NamedCredit,
	programme: Programme,
	link: ClickedLink | undefined,
	isStaff: boolean,
): Content {
	if (source !== "import") return WHY[credit.word](credit, programme, link, isStaff);
	return credit.partnership === null
		? "The sale was imported without a partner, or staff removed the partner later."
		: "The sale was imported with this partner, or staff assigned the partner later.";
}

async function findClickedLink(db: Db, id: number): Promise<ClickedLink | undefined> {
	const link = await findPartnerLink(db, "id", id);
	if (link === undefined) return undefined;
	const [partnership] = await listPartnerships(db, "id", [link.partnership_id]);
	return { ...link, partnerName: partnership?.partner_name ?? "" };
}

function nameOf(credit: NamedCredit | undefined, isStaff: boolean): Content {
	if (credit === undefined || credit.partnership === null) return "Nobody";
	const { partner_name: name, partner_public_id: id } = credit.partnership;
	return isStaff ? html`<a href="${earningsPath(id)}">${name}</a>` : name;
}

/**
 * Explains why the conversion has no credit. A partner is credited only after the shop's server has reported
 * the sale. Imported sales, and sales recorded before the programme credited partners, get no credit.
 */
function whyNotYet(conversion: Conversion): string {
	const order = knownOrderOf(conversion);
	if (awaitsConfirmation(order))
		return "Only a pixel has reported this order, and anyone can call a pixel. A partner is credited when the shop's server confirms it.";
	if (isByPixelAlone(order))
		return "Only a pixel has reported this order, and anyone can call a pixel. So no partner was credited.";
	return conversion.source === "import"
		? "The sale was imported without a partner."
		: "The programme did not credit partners when this sale was recorded.";
}

/** Sentences that say why a partner or nobody was credited, without details of the conversion. */
const REASONS = {
	CODE: "The order came with a coupon code that belongs to this partner.",
	CLICK: "The buyer clicked on a partner's link before the sale.",
	CLICK_ENDED: "The network has ended the partnership together with its clicks.",
	CLICK_TOO_OLD: "The click was too long before the sale.",
	CLICK_AFTER_SALE: "The click came after the sale.",
	OTHER_PROGRAMME: "The click ID belongs to another programme.",
	CLICK_UNREADABLE:
		"The click ID cannot be read, because it was changed or cut off. The shop must send it exactly as it came.",
	UNKNOWN_CODE: "The coupon code belongs to no active partner, and there was no click ID.",
	NO_SIGNAL: "The shop's server sent neither a click ID nor a coupon code with the order.",
	NOT_CREDITING: "The programme does not credit partners.",
} as const satisfies Partial<Record<CreditWord | typeof NOT_CREDITING, string>>;

/**
 * Sentences that say why a partner or nobody was credited, by the word that the API returns for the reason.
 */
export const CREDIT_SENTENCES: ReadonlyMap<string, string> = new Map(Object.entries(REASONS));

type Why = (
	credit: NamedCredit,
	programme: Programme,
	link: ClickedLink | undefined,
	isStaff: boolean,
) => Content;

interface ClickedLink extends PartnerLink {
	partnerName: string;
}

/**
 * Says which partner's link was clicked and when, so that staff can answer a partner's question about an
 * uncredited sale.
 */
function sayRefusedClick({ clicked_at_ms: atMs }: NamedCredit, link: ClickedLink | undefined): Content {
	if (link === undefined || atMs === null) return null;
	return html`It was a click on the link ${nameLink(link)} of <span class="break">${link.partnerName}</span>, on ${ui.timeTag(atMs)}.`;
}

function nameLink({ code, name }: PartnerLink): Html {
	return html`<code>${code}</code>${name === "" ? null : ` (${name})`}`;
}

/**
 * Functions that explain why a partner or nobody is credited, with details of the conversion, by the outcome
 * of domain/credit.
 */
const WHY: Readonly<Record<CreditWord, Why>> = {
	CODE: () => REASONS.CODE,
	CLICK: ({ clicked_at_ms: atMs }, { click_days: days }, link) =>
		html`The buyer clicked on the partner's link${link === undefined ? null : html` ${nameLink(link)}`}${
			atMs === null ? null : html` on ${ui.timeTag(atMs)}`
		}. It was the last click before the sale, at most ${ui.countOf(days, "day")} earlier.`,
	ASSIGNED: ({ partnership }, { public_id: programme }, _, isStaff) => {
		const action = "credit.assigned";
		const log = html` The reason is in the <a href="${withQuery(AUDIT_PATH, { action, programme })}">audit log</a>.`;
		return html`The network's staff ${partnership === null ? "decided that no partner is credited" : "assigned this partner"}.${isStaff ? log : null}`;
	},
	CLICK_ENDED: (credit, _, link) => html`${REASONS.CLICK_ENDED} ${sayRefusedClick(credit, link)}`,
	CLICK_TOO_OLD: (credit, { click_days: days }, link) =>
		html`${REASONS.CLICK_TOO_OLD} Clicks count for ${ui.countOf(days, "day")} in this programme. ${sayRefusedClick(credit, link)}`,
	CLICK_AFTER_SALE: (credit, _, link) => html`${REASONS.CLICK_AFTER_SALE} ${sayRefusedClick(credit, link)}`,
	OTHER_PROGRAMME: () => REASONS.OTHER_PROGRAMME,
	CLICK_UNREADABLE: () => REASONS.CLICK_UNREADABLE,
	UNKNOWN_CODE: () => REASONS.UNKNOWN_CODE,
	NO_SIGNAL: () => REASONS.NO_SIGNAL,
};
