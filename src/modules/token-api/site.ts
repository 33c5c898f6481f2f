import type { SiteModule } from "../../site-module.ts";
import { TOKEN_PAGE_ROUTES } from "../../web/tokens/routes.ts";

export const TOKEN_API_SITE: SiteModule = {
	routes: TOKEN_PAGE_ROUTES,
};
