"use strict";
page.start();
if (location.hash === "#check") page.check();
