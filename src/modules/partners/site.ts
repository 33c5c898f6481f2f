import type { SiteModule } from "../../site-module.ts";
import { PARTNER_ROUTES } from "../../web/partners/routes.ts";

export const PARTNERS_SITE: SiteModule = {
	routes: PARTNER_ROUTES,
};
