// Unpacks npm's Chromium into the temporary folder of this process. It needs its own process, because the package
// uses a fixed folder and a concurrent caller would get half a browser.

import chromium from "@sparticuz/chromium";

await chromium.executablePath();
