// The section of a conversion's page with the callbacks to the partners that are or were credited with it. Only staff see
// it, because how a partner's tracker answers is no business of the shop. Partners see their callbacks on their own pages.

import type { Conversion } from "#core/store/queries/conversions.ts";
import { listPartnersDeliveries, type PartnersDelivery } from "#core/store/queries/delivery-list.ts";
import { deliveryColumns } from "#core/web/conversion-ui.ts";
import { type PageDeps, standingOf, type WebContext } from "#core/web/page.ts";
import { partnerCallbacksPath, partnerDeliveryPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, html } from "#core/web/ui.ts";
import { findNamedCredits } from "../store/credits.ts";

/** Returns the section, or null for a shop's people, and for a conversion that no partner was told of or is credited with. */
export async function partnerCallbacksSection(
	c: WebContext,
	{ store: { db }, clock }: PageDeps,
	{ id }: Conversion,
): Promise<Content> {
	if (standingOf(c) !== "staff") return null;
	const deliveries = await listPartnersDeliveries(db, id);
	const partnership = (await findNamedCredits(db, [id])).get(id)?.partnership ?? null;
	if (deliveries.length === 0 && partnership === null) return null;
	const { event, state, attempts, answer, next, when } = deliveryColumns<PartnersDelivery>(
		{ kind: "partner", deliveryPath: (id, { partnerId }) => partnerDeliveryPath(partnerId, id) },
		clock.nowMs(),
	);
	const partner: ui.Column<PartnersDelivery> = {
		title: "Partner",
		cell: ({ partnerId, partnerName }) =>
			html`<a class="break" href="${partnerCallbacksPath(partnerId)}">${partnerName}</a>`,
	};
	return ui.section({
		id: "partner-callbacks",
		title: "Callbacks to the partner",
		hint: "What we sent to the partner about it, and how its server or tracker answered. Shops do not see this.",
		body: ui.dataTable<PartnersDelivery>({
			caption: "Callbacks to partners, the oldest first",
			rows: deliveries,
			stacks: true,
			columns: [event, partner, state, attempts, answer, next, when],
			empty:
				partnership === null
					? null
					: ui.emptyState({
							title: "The partner was not told",
							text: "Partners get the events that they have chosen, from the moment at which they save a callback URL. Callbacks older than the retention period are no longer listed.",
							action: ui.linkButton({
								label: "Callbacks of the partner",
								href: partnerCallbacksPath(partnership.partner_public_id),
							}),
						}),
		}),
	});
}
