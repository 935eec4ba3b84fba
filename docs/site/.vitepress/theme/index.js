// The usual theme without its typeface: pages take the one of the system, and load nothing from elsewhere.
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
