import { after } from "#core/domain/addition.ts";
import * as paths from "#core/web/paths.ts";
import type { SiteModule } from "../../site-module.ts";
import { STATEMENT_ROUTES } from "./web/routes.ts";

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
