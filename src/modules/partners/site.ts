import { after, atEnd } from "#core/domain/addition.ts";
import { countBadge, failedBadge } from "#core/web/menu.ts";
import * as paths from "#core/web/paths.ts";
import type { SiteModule } from "../../site-module.ts";
import { PARTNER_ROUTES } from "./web/routes.ts";

export const PARTNERS_SITE: SiteModule = {
	routes: PARTNER_ROUTES,
	menus: {
		staff: [
			after("programmes", {
				area: "partners",
				href: paths.PARTNERS_PATH,
				label: "Partners",
				badge: ({ waitingAddresses }) =>
					waitingAddresses === 0 ? null : countBadge("info", String(waitingAddresses), "to confirm"),
			}),
		],
		programme: [
			after("conversions", {
				area: "programme-partners",
				path: paths.programmePartnersPath,
				label: "Partners",
				badge: ({ applications }) =>
					applications === 0 ? null : countBadge("info", String(applications), "to answer"),
			}),
		],
		partner: [
			atEnd(
				{
					area: "earnings",
					path: paths.earningsPath,
					label: "Earnings",
					hasCharts: true,
					staysAfterErasure: true,
				},
				{ area: "links", path: paths.partnerLinksPath, label: "Links" },
				{
					area: "partner-conversions",
					path: paths.partnerConversionsPath,
					label: "Conversions",
					staysAfterErasure: true,
				},
				{
					area: "partner-callbacks",
					path: paths.partnerCallbacksPath,
					label: "Callbacks",
					hasCharts: true,
					badge: failedBadge,
				},
				{ area: "open-programmes", path: paths.openProgrammesPath, label: "Find programmes" },
				{ area: "people", path: paths.partnerPeoplePath, label: "People" },
			),
		],
	},
};
