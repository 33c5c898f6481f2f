// The page /programmes/:id/partners. It lists a programme's partners with their sales and earnings, and the
// open applications.

import type { Programme } from "#core/store/queries/programmes.ts";
import { readTextFields } from "#core/web/form.ts";
import { pager, readRows, totalsLine } from "#core/web/list.ts";
import type { PageDeps, WebContext, WebDeps } from "#core/web/page.ts";
import * as page from "#core/web/page.ts";
import { joinPath, partnerSettingsPath, programmePartnersPath } from "#core/web/paths.ts";
import { invitationCard } from "#core/web/people/people-page.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { listApplications } from "../store/applications.ts";
import { findLandingHosts, listLandingHosts } from "../store/landing-hosts.ts";
import { APPLICATIONS_KEPT_DAYS } from "../store/partner-prune.ts";
import { pagePartnerships } from "../store/partnerships.ts";
import type { Application } from "../store/tables.ts";
import { acceptApplication, declineAllApplications, declineApplication } from "../use-cases/applications.ts";
import type { InvitedPartner } from "../use-cases/partners.ts";
import { askDays, earnedSection, partnershipTable } from "./earned-section.ts";
import { waitingAddressesNote } from "./waiting-addresses.ts";

/**
 * Shows the page. `accepted` is an applicant who was just accepted. Their one-time link is part of the
 * response, because it is shown only once.
 */
export async function showProgrammePartners(
	c: WebContext,
	deps: PageDeps,
	accepted?: InvitedPartner,
): Promise<Response> {
	const programme = page.programmeOf(c);
	const { id, public_id: publicId } = programme;
	const days = askDays(c, deps, programmePartnersPath(publicId));
	const listed = await readRows(deps, days.asked, `partners ${publicId}`, (at) =>
		pagePartnerships(deps.store.db, { programmeId: id }, at),
	);
	const next = await nextStep(c, deps, programme);
	const join = ui.copyable(`${deps.publicUrl}${joinPath(publicId)}`, "the address where partners apply");
	const settings = { label: "Settings for partners", href: partnerSettingsPath(publicId) };
	return page.answerPage(c, {
		title: "Partners",
		active: "programme-partners",
		status: days.asked.status,
		body: [
			ui.pageHeader({
				title: "Partners",
				hint: "Who brings sales to this programme, and what they earn.",
				actions: page.may(c, "manage") ? ui.linkButton(settings) : null,
			}),
			accepted === undefined ? null : acceptedCard(accepted, programme),
			next === null || listed.rows.length === 0 ? null : ui.message("warn", next),
			await waitingAddressesNote(c, deps, programme),
			programme.takes_applications === 0 ? null : html`<p class="small">Partners apply at ${join}</p>`,
			await applicationsSection(c, deps, programme),
			await earnedSection(c, deps, days, {
				id: "partners",
				title: "Partners of this programme",
				owedTo: "the partner",
				show: async () => [
					totalsLine(listed, { noun: "partner" }),
					await partnershipTable(deps, listed.rows, days, { title: "Partner", empty: next ?? WHO_ADDS }),
					pager(listed),
				],
			}),
		],
	});
}

const WHO_ADDS =
	"The network's staff invite partners. Owners can also let partners apply on a public page: see Settings for partners.";

/**
 * Explains why partners cannot be credited yet, and who can change that. Returns null if they can be
 * credited.
 */
export async function nextStep(
	c: WebContext,
	{ store }: WebDeps,
	programme: Programme,
): Promise<Html | null> {
	const settings = html`<a href="${partnerSettingsPath(programme.public_id)}">Settings for partners</a>`;
	if (programme.credits_partners === 0) {
		const isStaff = page.standingOf(c) === "staff";
		const how = isStaff ? html`Turn it on under ${settings}.` : "Ask the network's staff to turn it on.";
		return html`This programme does not credit sales to partners. ${how}`;
	}
	if ((await findLandingHosts(store.db, [programme.id])).size > 0) return null;
	if ((await listLandingHosts(store.db, programme.id)).length > 0) {
		return html`Partners cannot create links yet, because the shop's addresses wait for confirmation.`;
	}
	const isOwn = page.may(c, "manage");
	const how = isOwn ? html`Enter your shop's addresses under ${settings}.` : "Ask an owner to enter them.";
	return html`Partners cannot create links, because the shop's addresses are missing. ${how}`;
}

/**
 * Says that the applicant is now a partner. The name may differ from the application, because an applicant
 * who already signs in for a partner stays with that partner.
 */
function acceptedCard(accepted: InvitedPartner, { name }: Programme): Content {
	const text = `${accepted.partner.name} is now a partner. ${accepted.email} signs in for it.`;
	return [ui.message("good", text), invitationCard(accepted, name)];
}

async function applicationsSection(
	c: WebContext,
	{ store }: WebDeps,
	programme: Programme,
): Promise<Content> {
	const waiting = await listApplications(store.db, programme.id);
	if (waiting.length === 0) return null;
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
		...(page.may(c, "manage") && waiting.length > 1 ? { actions: declineAll(path, waiting) } : {}),
		hint: `The newest first. Applicants whom you accept are invited to sign in. Applications that are not answered are removed after ${APPLICATIONS_KEPT_DAYS} days.`,
		body: ui.dataTable<Application>({
			caption: "Applications, one per row",
			rows: waiting,
			stacks: true,
			empty: null,
			columns: [
				{
					title: "Applicant",
					namesRow: true,
					// The site is shown as plain text and not as a link, because strangers typed it.
					cell: ({ name, email, site }) =>
						html`<span class="break">${name}</span><span class="secondary">${ui.emailText(email)}</span><span class="secondary break">${site}</span>`,
				},
				{ title: "How they bring sales", cell: ({ about }) => html`<span class="typed">${about}</span>` },
				{ title: "Applied", cell: ({ created_at_ms: atMs }) => ui.timeTag(atMs) },
				...(page.may(c, "manage") ? [{ title: "Answer", isTitleHidden: true, cell: answers }] : []),
			],
		}),
	});
}

function declineAll(path: string, waiting: readonly Application[]): Html {
	return ui.buttonForm({
		label: "Decline all",
		tone: "danger",
		isSmall: true,
		action: `${path}/applications/decline-all`,
		hidden: { seen: waiting.map(({ public_id }) => public_id).join(" ") },
		confirm: `Decline all ${waiting.length} applications on this page? No mail is sent. Applications that arrive meanwhile stay.`,
	});
}

export async function declineSeen(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const { seen } = await readTextFields(c, ["seen"]);
	const declined = await declineAllApplications(deps, page.actorOf(c), programme.id, seen.split(" "));
	if (!declined.ok) return page.tellRefusal(c, declined, () => showProgrammePartners(c, deps));
	const what = declined.value === 1 ? "1 application" : `${declined.value} applications`;
	return page.leadTo(c, programmePartnersPath(programme.public_id), `${what} declined. No mail is sent.`);
}

export async function answer(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = page.programmeOf(c);
	const isAccepted = (await readTextFields(c, ["answer"])).answer === "accept";
	const id = c.req.param("applicationId") ?? "";
	if (isAccepted) {
		const accepted = await acceptApplication(deps, page.actorOf(c), programme.id, id);
		if (accepted.ok) return showProgrammePartners(c, deps, accepted.value);
		return page.tellRefusal(c, accepted, () => showProgrammePartners(c, deps));
	}
	const declined = await declineApplication(deps, page.actorOf(c), programme.id, id);
	if (!declined.ok) return page.tellRefusal(c, declined, () => showProgrammePartners(c, deps));
	return page.leadTo(c, programmePartnersPath(programme.public_id), "Declined. No mail is sent.");
}
