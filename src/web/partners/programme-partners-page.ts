// /programmes/:id/partners: who brings sales to a programme, what they bring and earn, and who has applied.

import type { Status } from "../../domain/conversion.ts";
import { formatMinor } from "../../domain/money.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import { acceptApplication, declineApplication } from "../../partners/applications.ts";
import { shortenRate } from "../../programmes/programme-terms.ts";
import { findLandingHosts, sumClicks } from "../../store/queries/clicks.ts";
import { sumByPartnership } from "../../store/queries/credits.ts";
import * as partners from "../../store/queries/partners.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { STATUS_WORDS } from "../conversion-ui.ts";
import { digitsOf } from "../conversions/list-query.ts";
import { cursorOf, pager, pagesOf } from "../filter-query.ts";
import { readTextFields } from "../form.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as page from "../page.ts";
import { joinPath, partnerSettingsPath, programmePartnerPath, programmePartnersPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const PAGE_ROWS = 50;
/** The oldest first: those behind them come up as these are answered. */
const MAX_APPLICATIONS = 20;
const RECENT_DAYS = 30;
const STATUSES: readonly Status[] = ["RECORDED", "APPROVED", "REJECTED", "REVERSED"];

type Partnership = partners.NamedPartnership;

export async function showProgrammePartners(c: WebContext, deps: WebDeps): Promise<Response> {
	const { db } = deps.store;
	const programme = page.programmeOf(c);
	const { id, public_id: publicId } = programme;
	const query = { before: c.req.query("before") };
	const path = programmePartnersPath(publicId);
	const list = { name: `partners ${publicId}`, path, query, cursorName: "before" };
	const listed = await partners.pagePartnerships(db, id, { after: cursorOf(deps, list), limit: PAGE_ROWS });
	const next = nextStep(c, programme, (await findLandingHosts(db, [id])).size > 0);
	const join = ui.copyable(`${deps.publicUrl}${joinPath(publicId)}`, "the address where partners apply");
	const settings = { label: "Settings for partners", href: partnerSettingsPath(publicId) };
	return page.answerPage(c, {
		title: "Partners",
		active: "programme-partners",
		body: [
			ui.pageHeader({
				title: "Partners",
				hint: "Who brings sales to this programme, and what they earn.",
				actions: page.may(c, "manage") ? ui.linkButton(settings) : null,
			}),
			next === null || listed.rows.length === 0 ? null : ui.message("warn", next),
			programme.takes_applications === 0 ? null : html`<p class="small">Partners apply at ${join}</p>`,
			await applicationsSection(c, deps, programme),
			ui.section({
				id: "partners",
				title: "Partners of this programme",
				hint: `Sales and commission by status, without tests. In brackets: clicks of the last ${RECENT_DAYS} days.`,
				body: [
					await partnerTable(deps, programme, listed.rows, next ?? WHO_ADDS),
					pager(pagesOf(deps, list, listed)),
				],
			}),
		],
	});
}

const WHO_ADDS =
	"The network's staff invite partners. Owners can also let partners apply on a public page: see Settings for partners.";

/** What keeps partners from being credited, and who can put it right; null when nothing does. */
function nextStep(c: WebContext, programme: Programme, hasHosts: boolean): Html | null {
	const settings = html`<a href="${partnerSettingsPath(programme.public_id)}">Settings for partners</a>`;
	if (programme.credits_partners === 0) {
		const isStaff = page.standingOf(c) === "staff";
		const how = isStaff ? html`Turn it on under ${settings}.` : "Ask the network's staff to turn it on.";
		return html`This programme does not credit sales to partners. ${how}`;
	}
	if (hasHosts) return null;
	const isOwn = page.may(c, "manage");
	const how = isOwn ? html`Enter your shop's hosts under ${settings}.` : "Ask an owner to enter its hosts.";
	return html`Partners cannot create links, because the shop's hosts are missing. ${how}`;
}

async function partnerTable(
	deps: WebDeps,
	programme: Programme,
	rows: readonly Partnership[],
	next: Content,
): Promise<Html> {
	const { db } = deps.store;
	const ids = rows.map(({ id }) => id);
	const clicks = await sumClicks(db, "partnership_id", ids, recentHour(deps));
	const codes = Map.groupBy(await partners.listCodes(db, ids), (code) => code.partnership_id);
	// A shop's clock may be a little ahead.
	const span = { fromMs: 0, beforeMs: deps.clock.nowMs() + DAY_MS };
	const totals = await sumByPartnership(db, { ...span, partnershipIds: ids });
	const money = (status: Status): ui.Column<Partnership> => ({
		title: STATUS_WORDS[status],
		isNumber: true,
		cell: ({ id }) =>
			totals
				.filter((total) => total.partnershipId === id && total.status === status)
				.map(({ count, commissionMinor, currency }) => {
					const commission = ui.amount(formatMinor(commissionMinor, digitsOf(currency)), currency);
					return html`${ui.count(count)}<span class="secondary">${commission}</span>`;
				}),
	});
	return ui.dataTable<Partnership>({
		caption: "Partners, one per row",
		rows,
		empty: ui.emptyState({ title: "No partners yet", text: next }),
		stacks: true,
		columns: [
			{
				title: "Partner",
				namesRow: true,
				cell: (own) =>
					html`<a class="break" href="${programmePartnerPath(programme.public_id, own.public_id)}">${own.partner_name}</a> ${stateBadge(own)}<span class="secondary">since ${ui.dayTag(own.created_at_ms)}</span>`,
			},
			{ title: "Rate", isNumber: true, cell: (own) => rateOf(own, programme) },
			{ title: "Clicks", isNumber: true, cell: ({ id }) => clickCount(clicks.get(id)) },
			...STATUSES.map(money),
			{
				title: "Coupon codes",
				cell: ({ id }) =>
					html`<span class="break">${codes
						.get(id)
						?.map(({ code }) => code)
						.join(", ")}</span>`,
			},
		],
	});
}

/** Where the last days begin, as clicks are counted. */
export function recentHour({ clock }: Pick<WebDeps, "clock">): number {
	return Math.floor((clock.nowMs() - RECENT_DAYS * DAY_MS) / HOUR_MS);
}

export function clickCount({ all, recent } = { all: 0, recent: 0 }): Html {
	return html`${ui.count(all)} <span class="faint">(${ui.count(recent)})</span>`;
}

export function rateOf({ commission_rate: own }: Partnership, programme: Programme): string {
	return `${shortenRate(own ?? programme.commission_rate)} %`;
}

/** Staff may have ended the partner itself: then none of its partnerships goes on. */
export function stateBadge({ partner_ended_at_ms, ended_at_ms }: Partnership): Html | null {
	if (partner_ended_at_ms !== null) return ui.badge("plain", "Ended by the network");
	return ended_at_ms === null ? null : ui.badge("plain", "Ended");
}

async function applicationsSection(
	c: WebContext,
	{ store }: WebDeps,
	programme: Programme,
): Promise<Content> {
	const waiting = await partners.listOpenApplications(store.db, programme.id, MAX_APPLICATIONS);
	if (waiting.length === 0) return null;
	type Application = (typeof waiting)[number];
	const path = programmePartnersPath(programme.public_id);
	const answers = ({ public_id, name }: Application) => {
		const answer = { name: "answer", isSmall: true } as const;
		const [accept, decline] = [`Accept ${name}`, `Decline ${name}`];
		return ui.postForm({
			action: `${path}/applications/${public_id}`,
			className: "row row-end",
			body: [
				ui.button({ ...answer, label: "Accept", value: "accept", ariaLabel: accept }),
				ui.button({ ...answer, label: "Decline", value: "decline", tone: "danger", ariaLabel: decline }),
			],
		});
	};
	return ui.section({
		id: "applications",
		title: "Applications",
		hint: `The oldest first, at most ${MAX_APPLICATIONS}. Applicants whom you accept get a mail and can sign in.`,
		body: ui.dataTable<Application>({
			caption: "Applications, one per row",
			rows: waiting,
			stacks: true,
			empty: null,
			columns: [
				{
					title: "Applicant",
					namesRow: true,
					// Text, not a link: strangers wrote it.
					cell: ({ name, email, site }) =>
						html`<span class="break">${name}</span><span class="secondary">${ui.emailText(email)}</span><span class="secondary break">${site}</span>`,
				},
				{ title: "How they bring sales", cell: ({ about }) => html`<span class="typed">${about}</span>` },
				{ title: "Applied", cell: ({ created_at_ms: atMs }) => ui.timeTag(atMs) },
				{
					title: "Answer",
					isTitleHidden: true,
					cell: (own) => (page.may(c, "manage") ? answers(own) : null),
				},
			],
		}),
	});
}

export async function answerApplication(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const isAccepted = (await readTextFields(c, ["answer"])).answer === "accept";
	const work = isAccepted ? acceptApplication : declineApplication;
	const answered = await work(deps, page.makerOf(c), programme, c.req.param("applicationId") ?? "");
	if (!answered.ok) return page.tellRefusal(c, answered, () => showProgrammePartners(c, deps));
	const mail = deps.mails.isOn
		? "A mail is on its way to the new partner."
		: "No mail can be sent from here: ask the network's staff to hand over a link to sign in.";
	const said = isAccepted ? `The application was accepted. ${mail}` : "The application was declined.";
	return page.leadTo(c, programmePartnersPath(programme.public_id), said);
}
