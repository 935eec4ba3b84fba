// The default theme without its typeface: pages use the typeface of the system, and load nothing from other sites.
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
