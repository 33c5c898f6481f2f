import { after, atEnd } from "#core/domain/addition.ts";
import { partnerApiPath } from "#core/web/paths.ts";
import type { SiteModule } from "../../site-module.ts";
import { NETWORK_TAG, PARTNER_TAG } from "./api/route.ts";
import { TOKEN_ROUTES } from "./api/routes.ts";
import { TOKEN_PAGE_ROUTES } from "./web/routes.ts";

export const TOKEN_API_SITE: SiteModule = {
	routes: TOKEN_PAGE_ROUTES,
	menus: {
		partner: [atEnd({ area: "partner-api", path: partnerApiPath, label: "API" })],
	},
	calls: TOKEN_ROUTES,
	tags: [after("Pixel", NETWORK_TAG, PARTNER_TAG)],
};
