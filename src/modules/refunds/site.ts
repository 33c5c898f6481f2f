import type { SiteModule } from "../../site-module.ts";
import { refundConversion } from "../../web/conversions/conversion-page.ts";
import { conversionPath } from "../../web/paths.ts";
import { form } from "../../web/routes.ts";

const CONVERSION = conversionPath(":programmeId", ":conversionId");

export const REFUNDS_SITE: SiteModule = {
	routes: [form(`${CONVERSION}/refund`, "programme-decide", refundConversion)],
};
