import { after } from "#core/domain/addition.ts";
import type { SiteModule } from "../../site-module.ts";
import { PARTNER_CALLBACK_TAG, PARTNER_WEBHOOK } from "./api/partner-webhook.ts";
import { PARTNER_MENUS } from "./web/menus.ts";
import { PARTNER_ROUTES } from "./web/routes.ts";

export const PARTNERS_SITE: SiteModule = {
	routes: PARTNER_ROUTES,
	menus: PARTNER_MENUS,
	webhooks: [PARTNER_WEBHOOK],
	tags: [after("Pixel", PARTNER_CALLBACK_TAG)],
};
