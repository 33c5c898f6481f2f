// A partner's page, for staff: partnerships with what they bring and earn, links, and who signs in for the partner.

import type { Result } from "../../domain/fault.ts";
import { formatMinor } from "../../domain/money.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import * as partners from "../../partners/partners.ts";
import { sayWhatEnded } from "../../people/end-access.ts";
import type { SentLink } from "../../people/invitations.ts";
import { type ClickSum, sumClicks } from "../../store/queries/clicks.ts";
import { type PartnershipTotal, sumByPartnership } from "../../store/queries/credits.ts";
import {
	findPartner,
	findPartnership,
	listLinks,
	listPartnershipsOfPartner,
	type NamedPartnership,
	type Partner,
	type PartnerLink,
} from "../../store/queries/partners.ts";
import { type ListedPerson, listPartnerPeople } from "../../store/queries/people.ts";
import { listProgrammes } from "../../store/queries/programme-list.ts";
import { findProgramme } from "../../store/queries/programmes.ts";
import { statusBadge } from "../conversion-ui.ts";
import { digitsOf } from "../conversions/list-query.ts";
import { answerError } from "../error-page.ts";
import { declareForm, readTextFields } from "../form.ts";
import { answerPage, leadTo, makerOf, type PageDeps, tellRefusal, type WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { invitationCard, personState } from "../people/people-page.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { stateBadge } from "./partner-list-page.ts";
import { MATCHES_NAMED, pickNamed } from "./pick-named.ts";

/** What the page adds up; any other span is under Totals. */
const RECENT_DAYS = 30;
const MAX_LINKS_SHOWN = 50;

const ADD_FORM = declareForm({
	programme: { label: "Programme's name or ID", isRequired: true },
	rate: {
		label: "Commission rate in percent",
		inputMode: "decimal",
		hint: "Leave empty to use the programme's rate.",
	},
});
const INVITE_FORM = declareForm({
	email: {
		label: "Email of a person to invite",
		type: "email",
		autocomplete: "off",
		isRequired: true,
		hint: "A person who was invited and has not joined yet gets a new link.",
	},
});

type Verb = (c: WebContext, deps: PageDeps, partner: Partner) => Response | Promise<Response>;

/** For the partner in the address. */
function about(verb: Verb): (c: WebContext, deps: PageDeps) => Promise<Response> {
	return async (c, deps) => {
		const partner = await findPartner(deps.store.db, c.req.param("partnerId") ?? "");
		return partner === undefined ? answerError(c, "not_found") : verb(c, deps, partner);
	};
}

/** A button: it does something, and the page says what came of it. */
function act<Done>(
	work: (c: WebContext, deps: PageDeps, partner: Partner) => Promise<Result<Done>>,
	say: (done: Done, partner: Partner) => string,
) {
	return about(async (c, deps, partner) => {
		const done = await work(c, deps, partner);
		if (!done.ok) return tellRefusal(c, done, () => renderPartner(c, deps, partner));
		return leadTo(c, paths.partnerPath(partner.public_id), say(done.value, partner));
	});
}

/** A button of the partnership in the address, which is this partner's. */
function actIn(
	work: (c: WebContext, deps: PageDeps, own: NamedPartnership) => Promise<Result<unknown>>,
	text: string,
) {
	return about(async (c, deps, partner) => {
		const own = await findPartnership(deps.store.db, c.req.param("partnershipId") ?? "");
		if (own?.partner_id !== partner.id) return answerError(c, "not_found");
		return act(
			() => work(c, deps, own),
			() => `${own.programme_name}: ${text}`,
		)(c, deps);
	});
}

export const showPartner = about((c, deps, partner) => renderPartner(c, deps, partner));

export const addProgramme = about(async (c, deps, partner) => {
	const { programme: typed, rate } = await ADD_FORM.read(c);
	const search = typed.trim();
	const { rows } = await listProgrammes(deps.store.db, { search, limit: MATCHES_NAMED });
	const chosen = pickNamed(rows, search, "programme");
	const programme = chosen.ok ? await findProgramme(deps.store.db, chosen.value.publicId) : undefined;
	if (!chosen.ok || programme === undefined) {
		return chosen.ok
			? answerError(c, "not_found")
			: ADD_FORM.refuse(c, chosen, () => renderPartner(c, deps, partner));
	}
	const added = await partners.addPartnership(deps, makerOf(c), programme, partner.public_id, rate);
	if (!added.ok) return ADD_FORM.refuse(c, added, () => renderPartner(c, deps, partner));
	const isOff = programme.credits_partners === 0;
	const next = isOff ? " The programme does not credit partners yet: turn it on in its settings." : "";
	const text = `${partner.name} is now a partner of ${programme.name}.${next}`;
	return leadTo(c, paths.partnerPath(partner.public_id), text, isOff ? "warn" : "good");
});

export const saveRate = actIn(
	async (c, deps, own) =>
		partners.changeRate(deps, makerOf(c), own, (await readTextFields(c, ["rate"])).rate),
	"the new rate holds for sales recorded from now on.",
);

export const endOne = actIn(
	(c, deps, own) => partners.endPartnership(deps, makerOf(c), own),
	"the partnership has ended. What it earned stays, and clicks made before still count.",
);

export const resumeOne = actIn(
	(c, deps, own) => partners.resumePartnership(deps, makerOf(c), own),
	"the partnership is active again, with its links and codes.",
);

export const askToEndPartner = about((c, _, { public_id: id, name }) =>
	answerPage(c, {
		title: `End ${name}?`,
		active: "partners",
		body: html`${ui.pageHeader({
			title: `End ${name}?`,
			hint: "To work with them again, invite them as a new partner.",
		})}${ui.card(
			html`<h2>What ends</h2><ul class="points"><li>Links lead to the shop without a click ID: new clicks earn nothing.</li><li>Coupon codes credit nobody.</li><li>The partner's people can make no new links.</li></ul>
<h2>What stays</h2><ul class="points"><li>All that was earned, with its conversions.</li><li>Sales from clicks that were made before, within each programme's days.</li><li>The partner's people can sign in and see what they earned. Remove them to end that, too.</li></ul>`,
			ui.postForm({
				action: c.req.path,
				className: "row",
				body: html`${ui.button({ label: `End ${name}`, tone: "danger" })}${ui.linkButton({ label: "Cancel", tone: "quiet", href: paths.partnerPath(id) })}`,
			}),
		)}`,
	}),
);

export const endPartner = act(
	(c, deps, { public_id }) => partners.endPartner(deps, makerOf(c), public_id),
	(_, { name }) => `${name} has ended.`,
);

export const invitePerson = about(async (c, deps, partner) => {
	const { email } = await INVITE_FORM.read(c);
	const invited = await partners.inviteToPartner(deps, makerOf(c), partner, email);
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => renderPartner(c, deps, partner));
	return renderPartner(c, deps, partner, invited.value);
});

export const removePerson = act(
	(c, deps, partner) => partners.removePersonOf(deps, makerOf(c), partner, c.req.param("personId") ?? ""),
	({ email, ended }, { name }) => {
		const said = sayWhatEnded(ended);
		return `${email} no longer signs in for ${name}${said === null ? "" : `: ${said}`}.`;
	},
);

/** `invited`: the link is in the answer itself, shown this once. */
async function renderPartner(
	c: WebContext,
	deps: PageDeps,
	partner: Partner,
	invited?: SentLink,
): Promise<Response> {
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const { public_id: id, name, site, ended_at_ms: endedAtMs } = partner;
	const partnerships = await listPartnershipsOfPartner(db, partner.id);
	const partnershipIds = partnerships.map((own) => own.id);
	const since = { fromMs: nowMs - RECENT_DAYS * DAY_MS, beforeMs: Number.MAX_SAFE_INTEGER, partnershipIds };
	const clicks = await sumClicks(db, "partnership_id", partnershipIds, Math.floor(since.fromMs / HOUR_MS));
	const totals = await sumByPartnership(db, since);
	const links = await listLinks(db, partnershipIds);
	const path = paths.partnerPath(id);
	return answerPage(c, {
		title: name,
		active: "partners",
		body: [
			ui.pageHeader({
				title: name,
				hint: html`Partner since ${ui.dayTag(partner.created_at_ms)}. ${endedAtMs === null ? null : html`Ended on ${ui.dayTag(endedAtMs)}. `}<span class="break">${site}</span>`,
				actions: [
					ui.linkButton({
						label: "Totals",
						href: paths.withQuery(paths.PARTNER_TOTALS_PATH, { search: id }),
					}),
					endedAtMs === null
						? ui.linkButton({ label: "End partner", tone: "danger", href: `${path}/end` })
						: null,
				],
			}),
			invited === undefined ? null : invitationCard(invited, name),
			ui.section({
				id: "partnerships",
				title: "Partnerships",
				hint: `Clicks, sales and commission of the last ${RECENT_DAYS} days, by the time of the sale. Tests are left out.`,
				body: partnershipTable(
					partner,
					partnerships,
					clicks,
					Map.groupBy(totals, ({ partnershipId }) => partnershipId),
				),
			}),
			endedAtMs === null
				? ui.section({
						id: "add",
						title: "Add a programme",
						body: ui.padded(ADD_FORM.show(c, { action: `${path}/partnerships`, send: "Add" })),
					})
				: null,
			ui.section({
				id: "links",
				title: "Links",
				hint:
					links.length > MAX_LINKS_SHOWN
						? `The newest ${MAX_LINKS_SHOWN} of ${ui.count(links.length)}.`
						: "The partner's people make them.",
				body: linkTable(deps.clickUrl, links.slice(0, MAX_LINKS_SHOWN), partnerships),
			}),
			ui.section({
				id: "people",
				title: "People",
				hint: "Who signs in for this partner.",
				body: html`${peopleTable(path, await listPartnerPeople(db, partner.id, nowMs))}${ui.padded(
					INVITE_FORM.show(c, { action: `${path}/people`, send: "Invite" }),
				)}`,
			}),
		],
	});
}

function partnershipTable(
	{ public_id: partnerId }: Partner,
	rows: readonly NamedPartnership[],
	clicks: ReadonlyMap<number, ClickSum>,
	sums: ReadonlyMap<number, readonly PartnershipTotal[]>,
): Html {
	return ui.dataTable<NamedPartnership>({
		caption: "Programmes of this partner",
		rows,
		stacks: true,
		empty: ui.emptyState({
			title: "No programme yet",
			text: "Add the first programme below. Then the partner can make links to its shop.",
		}),
		columns: [
			{
				title: "Programme",
				namesRow: true,
				cell: ({ programme_name: name, programme_public_id: id }) =>
					html`<a class="break" href="${paths.withQuery(paths.conversionsPath(id), { partner: partnerId })}">${name}</a>`,
			},
			{
				title: "State",
				cell: (own) => stateBadge({ ended_at_ms: own.ended_at_ms ?? own.partner_ended_at_ms }),
			},
			{ title: "Since", cell: (own) => ui.dayTag(own.created_at_ms) },
			{ title: "Clicks", isNumber: true, cell: ({ id }) => ui.count(clicks.get(id)?.recent ?? 0) },
			{ title: "Sales and commission", cell: ({ id }) => (sums.get(id) ?? []).map(sumLine) },
			{
				title: "Rate in percent",
				cell: (own) => rateForm(own, paths.partnershipPath(partnerId, own.public_id)),
			},
			{
				title: "Actions",
				isTitleHidden: true,
				cell: ({ ended_at_ms: endedAtMs, public_id: id, programme_name: name }) => {
					const [verb, label] = endedAtMs === null ? ["end", "End"] : ["resume", "Resume"];
					return ui.buttonForm({
						action: `${paths.partnershipPath(partnerId, id)}/${verb}`,
						label,
						isSmall: true,
						className: "row row-end",
						ariaLabel: `${label} the partnership in ${name}`,
						...(endedAtMs === null
							? { tone: "danger", confirm: `End the partnership in ${name}? New clicks earn nothing.` }
							: {}),
					});
				},
			},
		],
	});
}

function sumLine({ status, count, commissionMinor, currency }: PartnershipTotal): Html {
	const commission = ui.amount(formatMinor(commissionMinor, digitsOf(currency)), currency);
	return html`<div class="row">${statusBadge(status)} ${ui.count(count)} · ${commission}</div>`;
}

function rateForm(
	{ commission_rate: own, programme_rate: usual, programme_name }: NamedPartnership,
	path: string,
) {
	const short = (rate: string) => rate.replace(/\.?0+$/, "");
	const label = `Commission rate in ${programme_name}. Empty: the programme's rate, ${short(usual)} percent.`;
	const values = { value: own === null ? "" : short(own), placeholder: short(usual), "aria-label": label };
	return ui.postForm({
		action: `${path}/rate`,
		className: "row choice",
		body: html`<input name="rate" size="7" inputmode="decimal"${ui.attrs(values)}>${ui.button({ label: "Change", isSmall: true, ariaLabel: `Change the rate in ${programme_name}` })}`,
	});
}

function linkTable(
	clickUrl: string,
	links: readonly PartnerLink[],
	partnerships: readonly NamedPartnership[],
): Html {
	const programmes = new Map(partnerships.map((own) => [own.id, own.programme_name]));
	return ui.dataTable<PartnerLink>({
		caption: "Links, the newest first",
		rows: links,
		stacks: true,
		empty: html`<p class="card-body soft">No links yet.</p>`,
		columns: [
			{
				title: "Link",
				namesRow: true,
				cell: ({ code, name }) =>
					html`${ui.copyable(`${clickUrl}/c/${code}`, `the link ${code}`)}<span class="secondary break">${name}</span>`,
			},
			{ title: "Programme", cell: (link) => programmes.get(link.partnership_id) ?? "" },
			{ title: "Leads to", cell: ({ target }) => html`<span class="break">${target}</span>` },
			{ title: "Made", cell: ({ created_at_ms }) => ui.dayTag(created_at_ms) },
		],
	});
}

function peopleTable(path: string, people: readonly ListedPerson[]): Html {
	return ui.dataTable<ListedPerson>({
		caption: "People of this partner",
		rows: people,
		stacks: true,
		empty: html`<p class="card-body soft">Nobody signs in for this partner. Invite somebody below.</p>`,
		columns: [
			{
				title: "Person",
				namesRow: true,
				cell: ({ email, name }) => html`${ui.emailText(email)}<span class="secondary">${name}</span>`,
			},
			{ title: "State", cell: personState },
			{
				title: "Actions",
				isTitleHidden: true,
				cell: ({ publicId, email }) =>
					ui.buttonForm({
						action: `${path}/people/${publicId}/remove`,
						label: "Remove",
						ariaLabel: `Remove ${email}`,
						tone: "danger",
						isSmall: true,
						className: "row row-end",
						confirm: `Remove ${email}? They are signed out everywhere. The links that they made keep working.`,
					}),
			},
		],
	});
}
