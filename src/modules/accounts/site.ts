import { after } from "../../domain/addition.ts";
import type { SiteModule } from "../../site-module.ts";
import * as paths from "../../web/paths.ts";
import { STATEMENT_ROUTES } from "../../web/statements/routes.ts";

export const ACCOUNTS_SITE: SiteModule = {
	routes: STATEMENT_ROUTES,
	menus: {
		staff: [
			after("partners", {
				area: "statements",
				href: paths.STATEMENTS_PATH,
				label: "Statements",
				inMenu: "Statements",
			}),
		],
		partner: [
			after(
				"partner-conversions",
				{
					area: "partner-statements",
					path: paths.partnerStatementsPath,
					label: "Statements",
					staysAfterErasure: true,
				},
				{ area: "payment-details", path: paths.paymentDetailsPath, label: "Payment details" },
			),
		],
	},
};
