// Shop addresses that owners have entered and that staff must confirm. Staff see the addresses of all
// programmes on the list of partners. Everybody in a programme sees its own addresses on its Partners page.

import type { Programme } from "#core/store/queries/programmes.ts";
import { standingOf, type WebContext, type WebDeps } from "#core/web/page.ts";
import { PARTNERS_PATH, partnerSettingsPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, html } from "#core/web/ui.ts";
import { sayHost } from "../domain/click.ts";
import { listLandingHosts, listWaitingHosts, type WaitingHost } from "../store/landing-hosts.ts";

/** Address of the form with which staff confirm or decline a shop address. */
export const WAITING_ADDRESSES_PATH = `${PARTNERS_PATH}/addresses`;

/**
 * Maximum number of addresses in the list. There are rarely more than a few, and the next ones appear when
 * some are answered.
 */
const LISTED_AT_ONCE = 100;

/** Lists the waiting addresses of all programmes, or returns null if there are none. */
export async function waitingAddressesSection({ store }: WebDeps): Promise<Content> {
	const waiting = await listWaitingHosts(store.db, LISTED_AT_ONCE);
	if (waiting.length === 0) return null;
	return ui.section({
		id: "addresses",
		title: "Shop addresses to confirm",
		hint: "Owners entered them. Partners' links start with your network's host name, so confirm only addresses that belong to the shop.",
		body: ui.dataTable<WaitingHost>({
			caption: "Shop addresses that wait for staff, the oldest first",
			rows: waiting,
			stacks: true,
			empty: null,
			columns: [
				{
					title: "Address",
					namesRow: true,
					cell: (host) => html`<span class="mono break">${sayHost(host)}</span>`,
				},
				{
					title: "Programme",
					cell: (host) =>
						html`<a class="break" href="${partnerSettingsPath(host.programmePublicId)}">${host.programmeName}</a>`,
				},
				{ title: "Entered", cell: ({ waitingSinceMs }) => ui.timeTag(waitingSinceMs) },
				{ title: "Answer", isTitleHidden: true, cell: answerButtons },
			],
		}),
	});
}

function answerButtons(waiting: WaitingHost): Content {
	const name = sayHost(waiting);
	const answer = { name: "answer", isSmall: true } as const;
	return ui.postForm({
		action: WAITING_ADDRESSES_PATH,
		className: "row row-end",
		hidden: { programme: waiting.programmePublicId, host: waiting.host },
		body: [
			ui.button({ ...answer, label: "Confirm", value: "confirm", ariaLabel: `Confirm ${name}` }),
			ui.button({
				...answer,
				label: "Decline",
				value: "decline",
				tone: "danger",
				ariaLabel: `Decline ${name}`,
			}),
		],
	});
}

/** Says which addresses of a programme wait for staff, or returns null if there are none. */
export async function waitingAddressesNote(
	c: WebContext,
	{ store }: WebDeps,
	{ id }: Pick<Programme, "id">,
): Promise<Content> {
	const waiting = (await listLandingHosts(store.db, id)).filter(
		({ waitingSinceMs }) => waitingSinceMs !== null,
	);
	if (waiting.length === 0) return null;
	const names = waiting.map(sayHost).join(", ");
	const whom =
		standingOf(c) === "staff"
			? html`<a href="${PARTNERS_PATH}#addresses">Confirm or decline</a>`
			: "The network's staff confirm new addresses.";
	const verb = waiting.length === 1 ? "waits" : "wait";
	return ui.message(
		"info",
		html`<strong class="break">${names}</strong> ${verb} for confirmation. No partner's link leads there until then. ${whom}`,
	);
}
