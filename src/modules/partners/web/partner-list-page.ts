// The page /partners, for staff. It lists all partners with their earnings in a period, offers the same list
// as a CSV file for payments, and has the form that invites another partner.

import { type CsvColumns, csvFile } from "#core/conversions/csv-file.ts";
import type { Earned } from "#core/conversions/tally.ts";
import type { Cursor } from "#core/domain/cursor.ts";
import type { Result } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId, PARTNER_ID } from "#core/domain/id.ts";
import { formatMinor } from "#core/domain/money.ts";
import type { SignedInPerson } from "#core/people/actor.ts";
import { findPartner, listPartners } from "#core/store/queries/partners.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { ask } from "#core/web/ask.ts";
import { answerCsv, csvFormFor } from "#core/web/conversions/csv-answer.ts";
import { digitsOf } from "#core/web/conversions/list-query.ts";
import { type FailingWords, failingSection } from "#core/web/failing-section.ts";
import { declareForm, HIDDEN, readTextFields } from "#core/web/form.ts";
import { listTable, pager, readRows, showList, totalsLine } from "#core/web/list.ts";
import { actorOf, answerPage, leadTo, type PageDeps, tellRefusal, type WebContext } from "#core/web/page.ts";
import {
	earningsPath,
	PARTNER_TOTALS_PATH,
	PARTNERS_PATH,
	partnerCallbacksPath,
	partnerPeoplePath,
	withQuery,
} from "#core/web/paths.ts";
import { sayInvitation } from "#core/web/people/people-page.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { sayHost } from "../domain/click.ts";
import { type PartnershipTotal, sumByPartnership } from "../store/credits.ts";
import { listPartnerships, type NamedPartnership } from "../store/partnerships.ts";
import { answerLandingHost } from "../use-cases/landing-hosts.ts";
import { type InvitationInput, type InvitedPartner, invitePartner } from "../use-cases/partners.ts";
import { invitePartnerTo } from "../use-cases/partnerships.ts";
import { findNamedProgramme } from "../use-cases/pick-named.ts";
import { type AskedDays, askDays, earnedPart, earnedSection, moneyColumns } from "./earned-section.ts";
import { showEarnings } from "./earnings-page.ts";
import { waitingAddressesSection } from "./waiting-addresses.ts";

/** Number of partners that the export reads at once. Adding up a busy month takes a few milliseconds for each partner. */
const BATCH_ROWS = 50;

const ARCHIVED_PARTNERS_PATH = withQuery(PARTNERS_PATH, { archived: "yes" });

const INVITE_FORM = declareForm({
	partnerId: HIDDEN,
	name: { label: "Name", isRequired: true, hint: "Of the company or person, as programmes see it." },
	site: { label: "Site (optional)", inputMode: "url", placeholder: "https://" },
	email: { label: "Email", type: "email", autocomplete: "off", isRequired: true },
	programme: {
		label: "First programme (optional)",
		placeholder: "Name or ID",
		hint: "The mail then names its commission, and for how many days a click counts.",
	},
});

const PARTNERS: FailingWords = {
	kind: "partner",
	owner: "Partner",
	path: partnerCallbacksPath,
	listPath: (partnerId, state) => `${withQuery(partnerCallbacksPath(partnerId), { state })}#deliveries`,
};

/** Invites a partner, and shows the new partner's page, because the next step is to add it to more programmes. */
export async function invite(c: WebContext, deps: PageDeps): Promise<Response> {
	const { partnerId, ...typed } = await INVITE_FORM.read(c);
	const publicId = PARTNER_ID.exec(partnerId)?.[0];
	if (publicId !== undefined && (await findPartner(deps.store.db, publicId)) !== undefined) {
		const text = "This partner was invited already. You can create a new link for its people here.";
		return leadTo(c, partnerPeoplePath(publicId), text, "info");
	}
	const invited = await inviteTyped(deps, actorOf(c), { ...typed, publicId });
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => showPartners(c, deps));
	c.set("partner", invited.value.partner);
	return showEarnings(c, deps, invited.value);
}

/** Invites a partner, to the programme that was typed if there is one. */
async function inviteTyped(
	deps: PageDeps,
	actor: SignedInPerson,
	typed: InvitationInput & { programme: string },
): Promise<Result<InvitedPartner>> {
	const search = typed.programme.trim();
	if (search === "") return invitePartner(deps, actor, typed);
	const found = await findNamedProgramme(deps.store.db, search);
	return found.ok ? invitePartnerTo(deps, actor, found.value.id, typed) : found;
}

export async function showPartners(c: WebContext, deps: PageDeps): Promise<Response> {
	if (c.req.query("archived") === "yes") return showArchived(c, deps);
	const days = askDays(c, deps, PARTNERS_PATH, true);
	const { asked } = days;
	const { search } = asked.query;
	const page = await readRows(deps, asked, "partners", (at) =>
		listPartners(deps.store.reader, { search, ...at }),
	);
	const { partnershipIds, linesOf } = await findPartnershipsOf(deps, page.rows);
	const table = (earned: Earned) => {
		const byPartner = Map.groupBy(linesOf(earned.totals), ({ partner_id }) => partner_id);
		return listTable<Partner>({
			asked,
			page,
			noun: "partner",
			caption: "Partners, the newest first",
			columns: [
				{ title: "Partner", namesRow: true, cell: (partner) => nameCell(partner, days) },
				...moneyColumns<Partner>(({ id }) => byPartner.get(id) ?? []),
			],
			// The chosen days do not filter partners, so they do not change the text of an empty list.
			none: search === undefined ? NONE_YET : NOT_FOUND,
			noMatch: search === undefined ? NONE_YET : NOT_FOUND,
		});
	};
	return answerPage(c, {
		title: "Partners",
		active: "partners",
		status: asked.status,
		body: [
			ui.pageHeader({ title: "Partners", hint: "Who brings sales to your programmes, and what they earn." }),
			await waitingAddressesSection(deps),
			search === undefined && asked.cursor === undefined ? await failingSection(deps, PARTNERS) : null,
			await earnedSection(c, deps, days, {
				id: "partners",
				title: "Partners",
				owedTo: "the partner",
				actions: [
					ui.linkButton({ label: "Export", href: asked.href({}, PARTNER_TOTALS_PATH) }),
					ui.linkButton({ label: "Archived", href: ARCHIVED_PARTNERS_PATH }),
				],
				show: async () => [
					totalsLine(page, { noun: "partner" }),
					await earnedPart(deps, partnershipIds, days, table),
					pager(page),
				],
			}),
			ui.section({
				id: "invite",
				title: "Invite a partner",
				hint: sayInvitation(true, deps.mails.isOn),
				body: ui.padded(
					INVITE_FORM.show(c, {
						action: `${PARTNERS_PATH}/invite`,
						values: { partnerId: makeId("ptn", deps.clock.nowMs(), deps.random.bytes(ID_RANDOM_BYTES)) },
						send: "Invite",
					}),
				),
			}),
		],
	});
}

/** Shows the archived partners, without their earnings, which are on their own pages. */
async function showArchived(c: WebContext, deps: PageDeps): Promise<Response> {
	const asked = ask(c, { path: PARTNERS_PATH, fixed: { archived: "yes" } });
	const page = await readRows(deps, asked, "archived partners", (at) =>
		listPartners(deps.store.reader, { archived: "only", ...at }),
	);
	const title = "Archived partners";
	const list = showList<Partner>({
		asked,
		page,
		noun: "partner",
		caption: title,
		columns: [
			{
				title: "Partner",
				namesRow: true,
				cell: ({ public_id: id, name }) => html`<a class="break" href="${earningsPath(id)}">${name}</a>`,
			},
			{ title: "Site", cell: ({ site }) => html`<span class="break">${site || "–"}</span>` },
			{
				title: "Archived",
				cell: ({ archived_at_ms: atMs }) => (atMs === null ? "–" : ui.timeTag(atMs)),
			},
		],
		none: {
			isAlone: true,
			title: "No archived partner",
			text: "A partner that has left can be archived on its page.",
		},
	});
	return answerPage(c, {
		title,
		active: "partners",
		body: html`${ui.pageHeader({
			title,
			hint: "Their partnerships have ended. Resume one on its page.",
			actions: ui.linkButton({ label: "Back to Partners", href: PARTNERS_PATH }),
		})}<div class="card">${list}</div>`,
	});
}

export async function answerAddress(c: WebContext, deps: PageDeps): Promise<Response> {
	const { programme, host, answer } = await readTextFields(c, ["programme", "host", "answer"]);
	const isConfirmed = answer === "confirm";
	const request = { programmePublicId: programme, host, isConfirmed };
	const answered = await answerLandingHost(deps, actorOf(c), request);
	if (!answered.ok) return tellRefusal(c, answered, () => showPartners(c, deps));
	const name = sayHost(answered.value);
	return leadTo(c, PARTNERS_PATH, isConfirmed ? `Links may now lead to ${name}.` : `${name} was declined.`);
}

type Total = NamedPartnership & PartnershipTotal;

/** Finds the partnerships of these partners. `linesOf` names the partnership of each total. */
async function findPartnershipsOf({ store }: PageDeps, partners: readonly Partner[]) {
	const partnerIds = partners.map(({ id }) => id);
	const partnerships = await listPartnerships(store.reader, "partner_id", partnerIds);
	return {
		partnershipIds: partnerships.map(({ id }) => id),
		linesOf: (totals: readonly PartnershipTotal[]): readonly Total[] =>
			partnerships.flatMap((partnership) =>
				totals.flatMap((total) =>
					total.partnershipId === partnership.id ? { ...partnership, ...total } : [],
				),
			),
	};
}

function nameCell(partner: Partner, { asked, zone }: AskedDays): Html {
	const { from, to } = asked.query;
	const href = withQuery(earningsPath(partner.public_id), { from, to });
	return html`<a class="break" href="${href}">${partner.name}</a> <span class="secondary">Since ${ui.dayTag(partner.created_at_ms, zone)}</span><span class="secondary break">${partner.site}</span>`;
}

const NONE_YET: ui.EmptyState = {
	title: "No partner yet",
	text: "Invite the first one below. Then add the programmes that the partner brings sales to. A programme credits them once you turn it on: open it, and go to Partners → Settings for partners.",
};

const NOT_FOUND: ui.EmptyState = {
	title: "No partner found",
	text: "Search for part of the name, or for the whole ID (ptn_…).",
	action: ui.linkButton({ label: "Show all", href: PARTNERS_PATH }),
};

/**
 * Returns the columns of the CSV file. It has one line for each partnership, status and currency. Each line names the
 * days and their time zone, because files of several months are put together.
 */
const columnsOf = ({
	asked: {
		query: { from = "", to = "" },
	},
	zone,
}: AskedDays): CsvColumns<Total> => [
	["partner", (row) => row.partner_name],
	["partnerId", (row) => row.partner_public_id],
	["programme", (row) => row.programme_name],
	["programId", (row) => row.programme_public_id],
	["status", (row) => row.status],
	["sales", (row) => String(row.count)],
	["basketValue", (row) => formatMinor(row.basketMinor, digitsOf(row.currency)), "amount"],
	["commission", (row) => formatMinor(row.commissionMinor, digitsOf(row.currency)), "amount"],
	["currency", (row) => row.currency],
	["soldFrom", () => from],
	["soldUntil", () => to],
	["timeZone", () => zone],
];

export function exportTotals(c: WebContext, deps: PageDeps): Response | Promise<Response> {
	const days = askDays(c, deps, PARTNERS_PATH, true);
	if (!days.asked.isUnderstood) return showPartners(c, deps);
	const { from = "", to = "" } = days.asked.query;
	const lines = csvFile(columnsOf(days), readLines(deps, days), csvFormFor(c));
	return answerCsv(c, deps, `partners-${from}-${to}.csv`, lines);
}

async function* readLines(deps: PageDeps, { asked, span }: AskedDays) {
	const { store, clock } = deps;
	const { search } = asked.query;
	let after: Cursor | undefined;
	do {
		// The file is a record of what was earned, so archived partners are in it.
		const request = { search, archived: "too", after, limit: BATCH_ROWS } as const;
		const { rows, next } = await listPartners(store.reader, request);
		const { partnershipIds, linesOf } = await findPartnershipsOf(deps, rows);
		yield linesOf(await sumByPartnership(store.reader, clock.nowMs(), { ...span, partnershipIds }));
		after = next ?? undefined;
	} while (after !== undefined);
}
