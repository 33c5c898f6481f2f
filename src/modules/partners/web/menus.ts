// The links of partners in the menus of staff and programmes, and the menu of a partner's own pages.

import { after, atEnd } from "#core/domain/addition.ts";
import { failedBadge, type MenuAdditions } from "#core/web/menu.ts";
import * as paths from "#core/web/paths.ts";
import { countApplications } from "../store/applications.ts";
import { countWaitingHosts } from "../store/landing-hosts.ts";

export const PARTNER_MENUS: MenuAdditions = {
	staff: [
		after("programmes", {
			area: "partners",
			href: paths.PARTNERS_PATH,
			label: "Partners",
			waiting: { count: countWaitingHosts, what: "to confirm" },
		}),
	],
	programme: [
		after("conversions", {
			area: "programme-partners",
			path: paths.programmePartnersPath,
			label: "Partners",
			waiting: { count: countApplications, what: "to answer" },
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
};
