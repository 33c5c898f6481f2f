import { refundConversion } from "#core/web/conversions/conversion-page.ts";
import { conversionPath } from "#core/web/paths.ts";
import { form } from "#core/web/routes.ts";
import type { SiteModule } from "../../site-module.ts";
import { REFUND_CONVERSION } from "./api/refund-call.ts";

const CONVERSION = conversionPath(":programmeId", ":conversionId");

export const REFUNDS_SITE: SiteModule = {
	signedCalls: [REFUND_CONVERSION],
	routes: [form(`${CONVERSION}/refund`, "programme-decide", refundConversion)],
};
