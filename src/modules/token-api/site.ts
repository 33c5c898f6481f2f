import { TOKEN_ROUTES } from "../../api/token-api/routes.ts";
import { atEnd } from "../../domain/addition.ts";
import type { SiteModule } from "../../site-module.ts";
import { partnerApiPath } from "../../web/paths.ts";
import { TOKEN_PAGE_ROUTES } from "../../web/tokens/routes.ts";

export const TOKEN_API_SITE: SiteModule = {
	routes: TOKEN_PAGE_ROUTES,
	menus: {
		partner: [atEnd({ area: "partner-api", path: partnerApiPath, label: "API" })],
	},
	calls: TOKEN_ROUTES,
};
